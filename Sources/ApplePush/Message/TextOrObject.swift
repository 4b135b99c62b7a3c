/// A value that Apple allows to be a text or an object: an alert or a sound.
enum TextOrObject: Hashable, Sendable {
    case text(String)
    case object([String: APNs.JSON])

    init?(_ json: APNs.JSON) {
        switch json {
        case .string(let text): self = .text(text)
        case .object(let members): self = .object(members)
        default: return nil
        }
    }

    var json: APNs.JSON {
        switch self {
        case .text(let text): .string(text)
        case .object(let members): .object(members)
        }
    }

    /// The members of the object. A text is the object whose only member has that name.
    func members(text name: String) -> [String: APNs.JSON] {
        switch self {
        case .text(let text): [name: .string(text)]
        case .object(let members): members
        }
    }
}

extension TextOrObject: Codable {
    init(from decoder: any Decoder) throws {
        guard let value = Self(try APNs.JSON(from: decoder)) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "Neither a string nor an object."
                )
            )
        }
        self = value
    }

    func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
