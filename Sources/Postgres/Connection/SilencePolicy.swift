/// When a session ends because the server sends nothing while statements wait, although its kernel may acknowledge what it receives.
package enum SilencePolicy: Sendable {
    /// Never: whoever has opened the session watches the server.
    case wait
    /// After that time. It is longer than the server itself lets a statement run.
    case end(after: Duration)
    /// Once the host does not answer a new connection either. A statement may take as long as it needs.
    case endWithHost

    /// How much later the answer may come that the server has ended a statement.
    private static let grace = Duration.seconds(2)

    /// For sessions with this `statement_timeout`.
    package static func beyond(_ statementTimeout: Duration) -> SilencePolicy { .end(after: statementTimeout + grace) }
}
