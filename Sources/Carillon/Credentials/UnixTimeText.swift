import FoundationEssentials

/// Points in time as machines and people both read them: 2026-11-22T11:45:00Z.
enum UnixTimeText {
    /// Of microseconds since 1970.
    static func text(_ microseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000).formatted(Date.ISO8601FormatStyle())
    }
}
