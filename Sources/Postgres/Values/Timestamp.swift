/// A `timestamptz`, in microseconds since 1970; `Int64.max` and `.min` are the infinities.
package struct Timestamp: PostgresValue {
    package static var type: PostgresType { .timestamptz }

    /// PostgreSQL's epoch, the year 2000.
    private static let offset: Int64 = 946_684_800_000_000

    private let microseconds: Int64

    package init(_ microseconds: Int64) { self.microseconds = microseconds }

    package init?(_ microseconds: Int64?) {
        guard let microseconds else { return nil }
        self.microseconds = microseconds
    }

    package func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: Self.fromUnix(microseconds)) }

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
