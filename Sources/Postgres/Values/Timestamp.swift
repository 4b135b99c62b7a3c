/// Converts between PostgreSQL's microseconds since 2000 and those since 1970. Both infinities stay unchanged.
enum Timestamp {
    private static let offset: Int64 = 946_684_800_000_000

    static func fromUnix(_ microseconds: Int64) -> Int64 {
        if microseconds == .max || microseconds == .min { return microseconds }
        let (result, overflow) = microseconds.subtractingReportingOverflow(Self.offset)
        return overflow ? .min : result
    }

    static func toUnix(_ microseconds: Int64) -> Int64 {
        if microseconds == .max || microseconds == .min { return microseconds }
        let (result, overflow) = microseconds.addingReportingOverflow(Self.offset)
        return overflow ? .max : result
    }
}
