/// What is said about webhooks in the log.
package enum WebhookReport: Sendable {
    /// The first attempt failed after one that did not. The error is a sentence without a full stop.
    case failing(webhook: String, app: String, error: String)
    case recovered(webhook: String, app: String)
    case paused(webhook: String, app: String, error: String)
    /// No batch is posted until PostgreSQL can be used again. Said once.
    case databaseLost(any Error)
    case databaseBack
}
