import FoundationEssentials

extension APNs.JSON: Codable {
    /// Reads whatever value is there.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            // A double would round numbers of more than 15 digits, such as 64-bit identifiers or amounts of money.
            let exact = try? container.decode(Decimal.self)
            self = exact.flatMap { $0.isNaN || $0.isSame(as: value) ? nil : .decimal($0) } ?? .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([Self].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: Self].self))
        }
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .decimal(let value):
            // Foundation's encoder would write it as `NaN`, which is not valid JSON.
            guard !value.isNaN else {
                let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "Not a number.")
                throw EncodingError.invalidValue(value, context)
            }
            try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
