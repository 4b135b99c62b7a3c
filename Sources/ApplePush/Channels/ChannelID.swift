import CarillonText

/// Apple's name for a channel, as in the header `apns-channel-id`: an opaque text of visible ASCII characters.
public struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// The channel of that name.
    public init(_ text: String) { description = text }

    /// Whether a channel can have this ID, and the database can store it.
    var isPossible: Bool {
        let bytes = description.utf8
        return 1...255 ~= bytes.count && bytes.allSatisfy { 0x21...0x7e ~= $0 }
    }

    /// The text's bytes in hexadecimal digits, under which pushes to the channel are queued and sent. Any ID survives the
    /// conversion, whatever it looks like.
    var hexadecimal: String { Array(description.utf8).hexadecimal }
}

extension ChannelID: Codable {
    /// Reads the text.
    public init(from decoder: any Decoder) throws {
        description = try decoder.singleValueContainer().decode(String.self)
    }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
