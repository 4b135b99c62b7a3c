import CarillonWeb

/// The sections of the navigation, in order.
enum PageSection: String, CaseIterable, Sendable {
    case overview = "Overview"
    case apps = "Apps"
    case trace = "Trace"
    case failures = "Failures"
    case broadcasts = "Broadcasts"
    case scheduled = "Scheduled"
    case tokens = "Tokens"
    case channels = "Channels"
    case activities = "Live Activities"
    case workers = "Workers"
    case credentials = "Credentials"
    case test = "Test push"
    case changes = "Changes"

    /// The name of its case is its path.
    var link: Link { self == .overview ? Link() : Link("\(self)") }
}
