package import CarillonText

/// A time of the database in microseconds since 1970.
package struct Moment: Comparable, Decodable, Sendable, JSONConvertible {
    package let microseconds: Int64

    package init(_ microseconds: Int64) { self.microseconds = microseconds }

    package init(from decoder: any Decoder) throws { microseconds = try Int64(from: decoder) }

    package static func < (one: Moment, other: Moment) -> Bool { one.microseconds < other.microseconds }

    /// 2026-11-22T11:45:00Z
    package var text: String { TimeText.seconds(microseconds) }

    /// 2026-11-22 11:45:00 UTC
    package var readable: String { text.replacing("T", with: " ").replacing("Z", with: " UTC") }

    /// 2026-11-22
    package var day: String { TimeText.day(microseconds) }

    package var json: JSONValue { text.json }
}
