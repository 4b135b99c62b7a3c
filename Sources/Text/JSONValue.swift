/// A JSON value whose members keep their order, for `--json` and for log lines.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// Text that is JSON already.
    case json(String)

    /// The JSON text, on one line.
    package var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .double(let value): value.isFinite ? String(value) : "null"
        case .string(let value): Self.quote(value)
        case .json(let text): text
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quote($0) + ":" + $1.text }.joined(separator: ",") + "}"
        }
    }

    /// The same value, with the passwords in its strings masked.
    package func cleaned(by redactor: Redactor) -> JSONValue {
        switch self {
        case .string(let value): .string(redactor.clean(value))
        case .json(let text): .json(redactor.clean(text))
        case .array(let values): .array(values.map { $0.cleaned(by: redactor) })
        case .object(let members): .object(members.map { ($0, $1.cleaned(by: redactor)) })
        case .null, .bool, .int, .double: self
        }
    }

    private static func quote(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.appendQuoted(text)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The object with one member's value replaced.
    package func with(_ name: String, _ value: some JSONConvertible) -> JSONValue {
        .object(members.map { ($0, $0 == name ? value.json : $1) })
    }

    package func without(_ name: String) -> JSONValue { .object(members.filter { $0.0 != name }) }

    package static func joined(_ objects: JSONValue...) -> JSONValue { .object(objects.flatMap(\.members)) }

    private var members: [(String, JSONValue)] {
        if case .object(let members) = self { members } else { [] }
    }

    /// An object with a member for each key, sorted by key.
    package init<Value: JSONConvertible>(_ values: [String: Value]) {
        self = .object(values.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
    }
}

extension JSONValue: JSONConvertible, ExpressibleByDictionaryLiteral {
    package var json: JSONValue { self }

    package init(dictionaryLiteral members: (String, any JSONConvertible)...) {
        self = .object(members.map { ($0, $1.json) })
    }
}

extension Bool: JSONConvertible { package var json: JSONValue { .bool(self) } }

extension Double: JSONConvertible { package var json: JSONValue { .double(self) } }

extension String: JSONConvertible { package var json: JSONValue { .string(self) } }

extension Int: JSONConvertible {}

extension Int16: JSONConvertible {}

extension Int32: JSONConvertible {}

extension Int64: JSONConvertible {}

extension UInt16: JSONConvertible {}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
    package var json: JSONValue { self?.json ?? .null }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    package var json: JSONValue { .array(map(\.json)) }
}
