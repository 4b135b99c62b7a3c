import ApplePush

/// The time of sending in the payload of an update: a timestamp of 0, right at the beginning, asks for it.
enum SendingTime {
    private static let opening = Array(#"{"aps":{"timestamp":"#.utf8)
    private static let placeholder = opening + Array("0,".utf8)

    /// How much larger the payload is once it has the time, until the year 2286.
    static let growth = 9

    static func isAsked(in payload: RawSpan) -> Bool {
        guard payload.byteCount >= placeholder.count else { return false }
        for (offset, byte) in placeholder.enumerated() where payload[byte: offset] != byte { return false }
        return true
    }

    /// The payload with that time, in seconds since 1970.
    static func filled(_ payload: RawSpan, with stamp: Int64) -> [UInt8] {
        var bytes = opening + Array(String(stamp).utf8)
        for offset in opening.count + 1..<payload.byteCount { bytes.append(payload[byte: offset]) }
        return bytes
    }
}
