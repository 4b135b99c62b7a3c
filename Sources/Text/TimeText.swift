/// Times in UTC, as RFC 3339 writes them. PostgreSQL's are microseconds since 1970.
package enum TimeText {
    /// 2026-11-22T11:45:00Z
    package static func seconds(_ microseconds: Int64) -> String {
        let (day, time) = parts(of: microseconds)
        return "\(day)T\(clock(time / 1_000_000))Z"
    }

    /// 2026-11-22T11:45:00.250Z
    package static func milliseconds(_ microseconds: Int64) -> String {
        let (day, time) = parts(of: microseconds)
        return "\(day)T\(clock(time / 1_000_000)).\(padded(time / 1_000 % 1_000, to: 3))Z"
    }

    /// 2026-11-22
    package static func day(_ microseconds: Int64) -> String { parts(of: microseconds).day }

    /// 11:45:00
    package static func timeOfDay(_ microseconds: Int64) -> String { clock(parts(of: microseconds).time / 1_000_000) }

    /// The day, and the microseconds since its beginning.
    private static func parts(of microseconds: Int64) -> (day: String, time: Int64) {
        let length: Int64 = 86_400_000_000
        let time = (microseconds % length + length) % length
        let day = CalendarDay(number: microseconds / length - (microseconds % length < 0 ? 1 : 0))
        return ("\(padded(day.year, to: 4))-\(padded(day.month, to: 2))-\(padded(day.day, to: 2))", time)
    }

    private static func clock(_ seconds: Int64) -> String {
        "\(padded(seconds / 3_600, to: 2)):\(padded(seconds / 60 % 60, to: 2)):\(padded(seconds % 60, to: 2))"
    }

    private static func padded(_ number: Int64, to width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
