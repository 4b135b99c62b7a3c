import FoundationEssentials

/// Formats times, given as microseconds since 1970, in UTC as in RFC 3339.
package enum TimeText {
    /// 2026-11-22T11:45:00Z
    package static func seconds(_ microseconds: Int64) -> String {
        date(microseconds).formatted(Date.ISO8601FormatStyle())
    }

    /// 2026-11-22T11:45:00.250Z
    package static func milliseconds(_ microseconds: Int64) -> String {
        // Use the middle of the millisecond: formatting truncates, and a `Date` may be slightly less than the value it is made
        // from.
        let middle = microseconds / 1_000 * 1_000 + 500
        return date(middle).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// 2026-11-22
    package static func day(_ microseconds: Int64) -> String { String(seconds(microseconds).prefix { $0 != "T" }) }

    /// 11:45:00
    package static func timeOfDay(_ microseconds: Int64) -> String {
        String(seconds(microseconds).suffix(9).dropLast())
    }

    private static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
