import CarillonPostgres
package import CarillonText

/// A setting of an app: its column in `apps`, and its value there and in JSON.
package struct AppSetting: Sendable {
    package let column: String
    let append: @Sendable (AppSettings, inout Parameters) -> Void
    package let json: @Sendable (AppSettings) -> JSONValue

    init<Value: Parameter & JSONConvertible>(
        _ column: String,
        _ value: @escaping @Sendable (AppSettings) -> Value
    ) {
        self.column = column
        append = { $1.append(value($0)) }
        json = { value($0).json }
    }
}
