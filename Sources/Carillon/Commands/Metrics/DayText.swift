import CarillonText

/// Days of UTC, each as the time of its beginning in microseconds since 1970.
enum DayText {
    static let length: Int64 = 86_400_000_000

    /// Reads a day such as 2026-01-31, which may have a time if that is its beginning. Nil if it is none.
    static func read(_ text: ArraySlice<UInt8>) -> Int64? {
        let text = text.trimmed
        for end in text.count == 10 ? ["T00:00Z"] : ["", "Z"] {
            guard case .time(let time) = TimeReader.read(text + Array(end.utf8)), time % length == 0 else { continue }
            return time
        }
        return nil
    }

    static func of(_ time: Int64) -> Int64 { time / length * length }
}
