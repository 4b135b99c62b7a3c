/// The state of a message, or of one of its pushes.
package enum MessageState: String, CaseIterable, Decodable, Sendable {
    case scheduled, ready
    case inFlight = "in flight"
    case retrying, sent
    case partlySent = "partly sent"
    case failed, expired, cancelled
    /// The message has no device token.
    case empty
}
