/// What became of a request.
package enum HTTPOutcome: Sendable, Equatable {
    /// The headers of an answer have arrived whole, and its body too if it matters.
    /// - Parameters:
    ///   - retryAfter: what the server asks for, if it does.
    ///   - body: empty if it does not matter.
    case answered(status: Int, retryAfter: Duration?, body: [UInt8] = [])
    /// No answer came; the reason as a sentence without a full stop.
    case failed(String)
    /// The client was stopped before an answer came.
    case stopped
}
