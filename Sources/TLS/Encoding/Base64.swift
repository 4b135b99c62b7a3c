import CarillonCOpenSSL

/// Base 64 with padding, on one line (RFC 4648, section 4).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = Int(EVP_EncodeBlock(&text, bytes, CInt(bytes.count)))
        return String(decoding: text[..<count], as: UTF8.self)
    }

    /// Decodes the text; nil if `encode` cannot have written it.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let text = Array(text.utf8)
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, text, CInt(text.count)) == bytes.count else { return nil }
        bytes.removeLast(text.suffix(2).count { $0 == UInt8(ascii: "=") })
        return encode(bytes).utf8.elementsEqual(text) ? bytes : nil
    }
}
