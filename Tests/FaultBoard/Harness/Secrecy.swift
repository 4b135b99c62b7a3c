/// What must not be in a log (I12).
enum Secrecy {
    /// Device tokens, lines of certificates and keys in PEM, and the parts of provider tokens have at least this many characters
    /// of Base64 in a row; nothing else in a log has.
    private static let length = 64

    /// The secrets in the log lines that their form reveals, and the payloads of `Scene.enqueue`.
    static func breaches(in log: String) -> [String] {
        var breaches = log.contains(#"alert\":\"Board"#) ? ["a payload"] : []
        for line in log.utf8.split(separator: UInt8(ascii: "\n")) where line.first == UInt8(ascii: "{") {
            for word in line.split(whereSeparator: { !isOfWord($0) }) where word.count >= length {
                breaches.append(String(decoding: word, as: UTF8.self))
            }
        }
        return breaches
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "-"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
