/// A route of a server: the handler for a path.
package struct Route: Sendable {
    package typealias Handler = @Sendable (Request) async -> Response

    package let method: Method
    let pattern: PathPattern
    let handler: Handler

    /// Matches the whole path. A part in braces, as in `/apps/{name}`, matches any text, which the handler finds under that name.
    /// The handler is cancelled when the server stops.
    package init(_ method: Method, _ path: String, _ handler: @escaping Handler) {
        self.method = method
        pattern = PathPattern(path)
        self.handler = handler
    }
}
