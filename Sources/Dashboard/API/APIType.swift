import CarillonText

/// The type of a value in the API, from which its JSON Schema is made.
enum APIType: Sendable {
    case string, integer, number, boolean, object
    /// A device token.
    case token
    case time, interval
    case range(ClosedRange<Int>)
    case choice([String])
    // Only here: a box within another enum's payload is a pointer with marks in it, which LeakSanitizer does not follow.
    indirect case list(APIType)
    case textOrObject
    /// What an answer has: all of these members, each of which may be null.
    case record(KeyValuePairs<String, APIType>)

    private static let null: JSONValue = ["type": "null"]

    var schema: JSONValue {
        switch self {
        case .string: ["type": "string"]
        case .integer: ["type": "integer", "format": "int64"]
        case .number: ["type": "number"]
        case .boolean: ["type": "boolean"]
        case .object: ["type": "object"]
        case .token: ["type": "string", "pattern": "^([0-9a-fA-F]{2}){1,256}$"]
        case .time: ["type": "string", "format": "date-time"]
        case .interval: ["type": "string", "examples": ["1 hour"]]
        case .range(let range):
            ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
        case .choice(let words): ["type": "string", "enum": words]
        case .list(let element): ["type": "array", "items": element.schema]
        case .textOrObject: ["anyOf": [Self.string.schema, Self.object.schema]]
        case .record(let members):
            [
                "type": "object", "required": members.map { $0.key },
                "properties": JSONValue.object(members.map { ($0.key, $0.value.orNull) }),
            ]
        }
    }

    var orNull: JSONValue { ["anyOf": [schema, Self.null]] }

    /// The value of a parameter, which arrives as text. Text that does not fit stays text: the function that it is passed to says
    /// what it takes.
    func value(of text: String) -> JSONValue {
        switch self {
        case .integer, .range: Int64(text).map { .int($0) } ?? .string(text)
        default: .string(text)
        }
    }
}
