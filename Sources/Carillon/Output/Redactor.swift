/// Takes known secrets out of whatever is about to be printed.
///
/// What we say ourselves names no secret; the sentences of other libraries may quote what they were given, such as a
/// database URL that has a password in it.
struct Redactor: Sendable {
    private let secrets: [String]

    /// - Parameter values: settings that hold secrets: whole, or as the password inside a connection string.
    init(_ values: [String] = []) {
        var secrets: Set<String> = []
        for value in values {
            if Self.isConnection(value) {
                secrets.formUnion(Self.passwords(in: value))
            } else {
                secrets.insert(value)
            }
        }
        for secret in secrets { secrets.insert(Self.decode(secret)) }
        // Longer first, so that one secret inside another leaves no rest of it.
        self.secrets = secrets.filter { $0.utf8.count >= 3 }.sorted { $0.count > $1.count }
    }

    func clean(_ text: String) -> String {
        var text = text
        for secret in secrets where text.contains(secret) {
            text = text.replacing(secret, with: "***")
        }
        return text
    }

    /// Whether a text may be a connection string, of which only the password is a secret.
    static func isConnection(_ value: String) -> Bool {
        value.contains("//") || value.contains("=")
    }

    private static func passwords(in connection: String) -> [String] {
        var found: [String] = []
        if let start = connection.firstRange(of: "//")?.upperBound {
            let rest = connection[start...]
            let authority = rest.prefix { $0 != "/" && $0 != "?" }
            // A password with an unescaped slash in it is a mistake, but one that must not be printed either.
            let upToAt = rest.lastIndex(of: "@").map { rest[..<$0] } ?? authority[..<authority.startIndex]
            if let colon = upToAt.firstIndex(of: ":") {
                found.append(String(upToAt[upToAt.index(after: colon)...]))
            }
        }
        for marker in ["password=", "password ="] {
            var rest = connection[...]
            while let range = rest.firstRange(of: marker) {
                rest = rest[range.upperBound...]
                let value = rest.drop { $0 == " " }
                found.append(
                    value.first == "'"
                        ? String(value.dropFirst().prefix { $0 != "'" })
                        : String(value.prefix { !$0.isWhitespace && $0 != "&" })
                )
            }
        }
        return found.filter { !$0.isEmpty }
    }

    /// The text with its %XX made the bytes they stand for.
    private static func decode(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
