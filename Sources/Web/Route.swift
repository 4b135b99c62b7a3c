/// A route of a server: the handler for a path.
package struct Route: Sendable {
    package typealias Handler = @Sendable (Request) async -> Response

    package let method: Method
    package let path: String
    let handler: Handler

    /// The whole path is compared. The handler is cancelled when the server stops.
    package init(_ method: Method, _ path: String, _ handler: @escaping Handler) {
        precondition(path.hasPrefix("/"), "a path begins with a slash")
        self.method = method
        self.path = path
        self.handler = handler
    }
}

/// The methods of routes. `HEAD` is answered by the route of `GET`, without the body.
package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
}
