import CarillonPostgres
package import CarillonText

/// A setting of an app: its column in `apps`, and its value there, in JSON and for people.
package struct AppSetting: Sendable {
    package let column: String
    let append: @Sendable (AppSettings, inout Parameters) -> Void
    package let json: @Sendable (AppSettings) -> JSONValue
    /// What a number counts.
    private let unit: String
    /// The column is an interval, and the value the number of its seconds.
    private let isInterval: Bool
    /// What is shown if the setting has no value.
    private let fallback: @Sendable (AppSettings) -> String

    init<Value: Parameter & JSONConvertible>(
        _ column: String,
        unit: String = "",
        else fallback: @escaping @Sendable (AppSettings) -> String = { _ in "none" },
        _ value: @escaping @Sendable (AppSettings) -> Value
    ) {
        self.column = column
        self.unit = unit
        isInterval = false
        self.fallback = fallback
        append = { $1.append(value($0)) }
        json = { value($0).json }
    }

    /// An interval.
    init(_ column: String, else fallback: String, seconds: @escaping @Sendable (AppSettings) -> Int64?) {
        self.column = column
        unit = ""
        isInterval = true
        self.fallback = { _ in fallback }
        append = { $1.append(seconds($0)) }
        json = { seconds($0).json }
    }

    init(
        _ column: String,
        else fallback: @escaping @Sendable (AppSettings) -> String,
        texts: @escaping @Sendable (AppSettings) -> [String]?
    ) {
        self.column = column
        unit = ""
        isInterval = false
        self.fallback = fallback
        append = { $1.append(Texts(values: texts($0))) }
        json = { texts($0).json }
    }

    /// What a statement selects to read it from `apps` as `a`.
    var selection: String { isInterval ? "extract(epoch FROM a.\(column))::int8 AS \(column)" : "a.\(column)" }

    /// The value of its column, for the parameter of that number.
    func value(of parameter: Int) -> String {
        isInterval ? "justify_hours(make_interval(secs => $\(parameter)))" : "$\(parameter)"
    }

    /// The name of its option.
    package var name: String { column.replacing("_", with: "-") }

    /// Its value as people read it, or what applies without one.
    package func text(_ settings: AppSettings) -> String { text(of: json(settings)) ?? fallback(settings) }

    private func text(of value: JSONValue) -> String? {
        switch value {
        case .null: nil
        case .bool(let isOn): isOn ? "yes" : "no"
        case .int(let seconds) where isInterval: DurationText.write(.seconds(seconds))
        case .int(let count): Int(count).grouped + (unit.isEmpty ? "" : " " + unit)
        case .string(let text): text
        case .array(let values): values.compactMap { text(of: $0) }.joined(separator: ", ")
        case .double, .object, .json: value.text
        }
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
