extension Rows {
    /// A text that is one of a fixed set.
    package func choice<Value: RawRepresentable>(_ row: Int, _ column: Column) throws(PostgresError) -> Value
    where Value.RawValue == String {
        let text = try string(row, column)
        guard let value = Value(rawValue: text) else {
            let name = try name(of: place(of: column))
            throw PostgresError(.unexpectedValue, "column \(name) is “\(text)”, which this program does not know")
        }
        return value
    }
}
