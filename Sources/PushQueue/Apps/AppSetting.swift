import CarillonPostgres
package import CarillonText

/// A setting of an app: its column in `apps`, and its value there and in JSON.
package struct AppSetting: Sendable {
    package let column: String
    let append: @Sendable (AppSettings, inout Parameters) -> Void
    package let json: @Sendable (AppSettings) -> JSONValue

    init<Value: Parameter & JSONConvertible>(_ column: String, _ value: @escaping @Sendable (AppSettings) -> Value) {
        self.column = column
        append = { $1.append(value($0)) }
        json = { value($0).json }
    }

    init(_ column: String, texts: @escaping @Sendable (AppSettings) -> [String]?) {
        self.column = column
        append = { $1.append(Texts(values: texts($0))) }
        json = { texts($0).json }
    }
}

/// An array, or null.
private struct Texts: Parameter {
    let values: [String]?

    var typeID: UInt32 { PostgresType.text.arrayID }

    func writeIfPresent(to bytes: inout [UInt8]) -> Bool {
        values.map { PostgresArray($0).writeIfPresent(to: &bytes) } ?? false
    }
}
