/// Apple's name of a channel, as the header `apns-channel-id` has it: opaque text of visible ASCII characters.
public struct ChannelID: Hashable, Sendable, CustomStringConvertible {
    /// The text.
    public let description: String

    /// The channel of that name.
    public init(_ text: String) { description = text }

    /// The digits under which pushes to the channel are queued and sent: those of the text's bytes. Whatever Apple's ids look
    /// like, they come back unchanged.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in description.utf8 {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of an id from its digits, which are hexadecimal.
    static func bytes(ofHexadecimal digits: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            let value = digit < UInt8(ascii: "A") ? digit & 15 : (digit & 15) + 9
            if let upper = high.take() { bytes.append(upper << 4 | value) } else { high = value }
        }
        return bytes
    }
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
