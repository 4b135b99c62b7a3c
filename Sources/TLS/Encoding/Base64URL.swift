/// Base 64 with the URL alphabet and without padding (RFC 4648, section 5), as JSON Web Tokens use it.
package enum Base64URL {
    private static let padding = UInt8(ascii: "=")
    /// The two characters of ordinary base 64 that URLs replace.
    private static let replaced = [UInt8(ascii: "+"): UInt8(ascii: "-"), UInt8(ascii: "/"): UInt8(ascii: "_")]
    private static let restored = Dictionary(uniqueKeysWithValues: replaced.map { ($1, $0) })

    package static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8
        return String(decoding: text.filter { $0 != padding }.map { replaced[$0] ?? $0 }, as: UTF8.self)
    }

    /// Decodes the text; nil if `encode` cannot have written it.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let missing = (4 - text.count % 4) % 4
        let padded = text.map { restored[$0] ?? $0 } + Array(repeating: padding, count: missing)
        guard let bytes = Base64.decode(String(decoding: padded, as: UTF8.self)) else { return nil }
        return encode(bytes).utf8.elementsEqual(text) ? bytes : nil
    }
}
