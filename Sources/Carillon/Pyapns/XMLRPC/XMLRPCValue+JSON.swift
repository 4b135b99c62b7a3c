import CarillonText

extension XMLRPCValue {
    /// The same value in JSON, which has neither dates nor bytes.
    func json() throws(XMLRPCFault) -> JSONValue {
        switch self {
        case .none: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .double(let value): return .double(value)
        case .string(let value): return .string(value)
        case .array(let values):
            var json: [JSONValue] = []
            for value in values { json.append(try value.json()) }
            return .array(json)
        case .structure(let members):
            var json: [(String, JSONValue)] = []
            for member in members { json.append((member.name, try member.value.json())) }
            return .object(json)
        case .dateTime, .base64:
            throw XMLRPCFault(
                .refused,
                "A notification contains \(kind), which JSON cannot represent: pass it as a string."
            )
        }
    }
}
