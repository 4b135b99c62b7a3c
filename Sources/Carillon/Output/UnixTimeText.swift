import FoundationEssentials

/// Times as people and machines both read them. PostgreSQL's are microseconds since 1970.
enum UnixTimeText {
    /// 2026-11-22T11:45:00Z
    static func text(_ microseconds: Int64) -> String { date(microseconds).formatted(Date.ISO8601FormatStyle()) }

    /// 2026-11-22, in UTC.
    static func day(_ microseconds: Int64) -> String {
        date(microseconds).formatted(Date.ISO8601FormatStyle().year().month().day())
    }

    private static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
