import FoundationEssentials

/// A JSON value whose members keep their order, for `--json` and for log lines.
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([(String, JSONValue)])
    /// Text that is JSON already.
    case json(String)

    /// On one line.
    var text: String {
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
    func cleaned(by redactor: Redactor) -> JSONValue {
        switch self {
        case .string(let value): .string(redactor.clean(value))
        case .json(let text): .json(redactor.clean(text))
        case .array(let values): .array(values.map { $0.cleaned(by: redactor) })
        case .object(let members): .object(members.map { ($0, $1.cleaned(by: redactor)) })
        case .null, .bool, .int, .double: self
        }
    }

    private static func quote(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        guard let bytes = try? encoder.encode(text) else { preconditionFailure("every string has a JSON form") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The string, or null if there is none.
    init(_ text: String?) { self = text.map { .string($0) } ?? .null }

    init(_ number: (some BinaryInteger)?) { self = number.map { .int(Int64($0)) } ?? .null }

    /// The object's members; none if it is no object.
    var members: [(String, JSONValue)] {
        if case .object(let members) = self { members } else { [] }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int64) { self = .int(value) }
    init(floatLiteral value: Double) { self = .double(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
}
