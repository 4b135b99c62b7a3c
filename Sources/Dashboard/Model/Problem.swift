import CarillonText
import CarillonWeb

/// Something that is wrong now, and what to do about it.
struct Problem: Sendable, JSONConvertible {
    enum Severity: String { case critical, warning }

    let severity: Severity
    let sentence: String
    let remedy: String
    /// The page with details.
    let link: Link

    var json: JSONValue {
        ["severity": severity.rawValue, "problem": sentence, "remedy": remedy, "see": link.text]
    }
}
