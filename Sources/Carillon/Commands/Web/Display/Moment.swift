import CarillonText
import CarillonWeb

/// A time of the database in microseconds since 1970. Pages have it in UTC; their script turns it into the viewer's zone.
struct Moment: Sendable, JSONConvertible {
    let microseconds: Int64

    init(_ microseconds: Int64) { self.microseconds = microseconds }

    private var text: String { TimeText.seconds(microseconds) }

    var html: HTML { HTML(.time, Attribute(.datetime, text), Attribute(.title, text)) { readable } }

    /// 2026-11-22 11:45:00 UTC
    var readable: String { text.replacing("T", with: " ").replacing("Z", with: " UTC") }

    var json: JSONValue { text.json }
}
