/// A value of XML-RPC.
enum XMLRPCValue: Equatable, Sendable {
    struct Member: Equatable, Sendable {
        let name: String
        var value: XMLRPCValue
    }

    case none
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    /// In the form 20261124T00:10:04, without a time zone.
    case dateTime(String)
    case base64([UInt8])
    case array([XMLRPCValue])
    /// In the order of the call, with each name once.
    case structure([Member])

    /// For errors.
    var kind: String {
        switch self {
        case .none: "nil"
        case .bool: "a boolean"
        case .int: "an integer"
        case .double: "a double"
        case .string: "a string"
        case .dateTime: "a date"
        case .base64: "binary data"
        case .array: "an array"
        case .structure: "a struct"
        }
    }
}
