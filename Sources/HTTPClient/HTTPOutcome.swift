/// What became of a request.
package enum HTTPOutcome: Sendable, Equatable {
    /// The headers of an answer have arrived whole; its body does not matter.
    /// - Parameter retryAfter: what the server asks for, if it does.
    case answered(status: Int, retryAfter: Duration?)
    /// No answer came; the reason as a sentence without a full stop.
    case failed(String)
    /// The client was stopped before an answer came.
    case stopped
}
