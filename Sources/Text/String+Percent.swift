extension String {
    /// Percent-encoded, but for letters, digits and what else is to be kept: by default, the unreserved characters of RFC 3986.
    package func percentEncoded(keeping others: String = "-_.~") -> String {
        utf8.reduce(into: "") { encoded, byte in
            if byte.isLetterOrDigit || others.utf8.contains(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + Self.digit(byte >> 4) + Self.digit(byte & 15)
            }
        }
    }

    private static func digit(_ value: UInt8) -> String { String(value, radix: 16, uppercase: true) }
}
