import FoundationEssentials

/// Days as people write them to people everywhere.
enum UnixDay {
    /// The day of a time in microseconds since 1970, in UTC.
    static func text(_ microseconds: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
        return date.formatted(Date.ISO8601FormatStyle().year().month().day())
    }
}
