import CarillonWeb

/// The sections of the navigation, in order.
enum PageSection: String, CaseIterable, Sendable {
    case overview = "Overview"
    case apps = "Apps"
    case find = "Find a push"
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

    var link: Link {
        switch self {
        case .overview: Link()
        case .apps: Link("apps")
        case .find: Link("find")
        case .failures: Link("failures")
        case .broadcasts: Link("broadcasts")
        case .scheduled: Link("scheduled")
        case .tokens: Link("tokens")
        case .channels: Link("channels")
        case .activities: Link("activities")
        case .workers: Link("workers")
        case .credentials: Link("credentials")
        case .test: Link("test")
        case .changes: Link("changes")
        }
    }
}
