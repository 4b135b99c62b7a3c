/// What is wrong now with apps, workers or the like, and what to do about it. `carillon check` and the dashboard find the same in
/// the same records.
package struct Finding: Sendable {
    /// What it is about.
    package enum Subject: Sendable {
        case apps
        case app(String)
        case failures(of: String)
        case webhook(String)
        case credentials, workers, maintenance
    }

    package enum Severity: String, Sendable {
        /// Pushes are not sent, or soon will not be.
        case critical
        case warning
    }

    package let subject: Subject
    package let severity: Severity
    package let sentence: String
    package let remedy: String

    package init(_ subject: Subject, _ severity: Severity, _ sentence: String, remedy: String) {
        self.subject = subject
        self.severity = severity
        self.sentence = sentence
        self.remedy = remedy
    }
}
