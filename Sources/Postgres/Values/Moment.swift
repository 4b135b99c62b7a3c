package import CarillonText

/// A `timestamptz`: a time in microseconds since 1970; `Int64.max` and `.min` are the infinities.
package struct Moment: Hashable, Comparable, Sendable {
    package static let infinity = Moment(.max)
    /// PostgreSQL's epoch, the year 2000.
    private static let offset: Int64 = 946_684_800_000_000

    package let microseconds: Int64

    package init(_ microseconds: Int64) { self.microseconds = microseconds }

    package init(seconds: Int64) { self.init(seconds * 1_000_000) }

    package static func < (one: Moment, other: Moment) -> Bool { one.microseconds < other.microseconds }
}

extension Moment: PostgresValue, Decodable {
    package static var type: PostgresType { .timestamptz }

    package func write(to bytes: inout [UInt8]) { bytes.append(bigEndian: Self.fromUnix(microseconds)) }

    package init(from decoder: any Decoder) throws { self.init(try Int64(from: decoder)) }

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

extension Moment: JSONConvertible {
    /// 2026-11-22T11:45:00Z
    package var text: String { TimeText.seconds(microseconds) }

    /// 2026-11-22 11:45:00 UTC
    package var readable: String { text.replacing("T", with: " ").replacing("Z", with: " UTC") }

    /// 2026-11-22
    package var day: String { TimeText.day(microseconds) }

    package var json: JSONValue { text.json }
}
