package import CarillonPostgres
package import CarillonSchema
package import CarillonWeb

package enum DashboardEvent: Sendable {
    /// The password was wrong.
    case loginFailed(Request)
    /// Too many wrong passwords were tried.
    case loginRefused(Request)
    /// A program sent an unknown API token.
    case tokenRefused(Request)
    /// A request was refused because of its headers.
    case refused(Request)
    case pageFailed(Request, Explanation)
    case changeFailed(Request, Explanation)
    /// A program's call was not answered.
    case callFailed(Request, Explanation)
    case server(WebServer.Event)
    case database(ServiceDatabase.Event)
}
