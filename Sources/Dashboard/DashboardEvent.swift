package import CarillonPostgres
package import CarillonSchema
package import CarillonWeb

/// What the dashboard has to say to a log.
package enum DashboardEvent: Sendable {
    /// The password was wrong.
    case loginFailed(Request)
    /// Too many passwords were wrong.
    case loginRefused(Request)
    /// A program sent an unknown token.
    case tokenRefused(Request)
    /// A request was refused by its headers.
    case refused(Request)
    case pageFailed(Request, Explanation)
    case changeFailed(Request, Explanation)
    /// A message of a program was not enqueued.
    case postFailed(Request, Explanation)
    case server(WebEvent)
    case database(ServiceDatabase.Event)
}
