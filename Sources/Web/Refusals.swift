/// What a server answers to requests that reach no handler.
package struct Refusals: Sendable {
    package var tooLarge = Response(text: "The request's body is too large.\n", status: 413)
    /// The server is stopping, and the handler was not called.
    package var stopping = Response(text: "This server is stopping.\n", status: 503)
    /// The server is stopping, and did not wait for the handler.
    package var interrupted = Response(text: "This server is stopping.\n", status: 503)

    package init() {}
}
