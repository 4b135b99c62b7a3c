extension Rows {
    /// A text that is one of a fixed set.
    package func choice<Value: RawRepresentable>(_ row: Int, _ column: Column) throws(PostgresError) -> Value
    where Value.RawValue == String { try value(of: try string(row, column), in: column) }

    /// An array of such texts.
    package func choices<Value: RawRepresentable>(
        _ row: Int,
        _ column: Column,
        of _: Value.Type
    ) throws(PostgresError) -> [Value] where Value.RawValue == String {
        try strings(row, column).map { text throws(PostgresError) in try value(of: text, in: column) }
    }

    private func value<Value: RawRepresentable>(of text: String?, in column: Column) throws(PostgresError) -> Value
    where Value.RawValue == String {
        guard let value = text.flatMap({ Value(rawValue: $0) }) else {
            let name = try name(of: place(of: column))
            throw PostgresError(
                .unexpectedValue,
                "column \(name) is \(text.map { "“\($0)”" } ?? "null"), which this program does not know"
            )
        }
        return value
    }
}
