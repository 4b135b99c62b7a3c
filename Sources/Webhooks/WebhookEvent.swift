package import CarillonPostgres

/// An event, as `take_events` returns it.
package struct WebhookEvent: Decodable, Sendable {
    package let id: String
    package let kind: String
    package let happenedAt: Moment
    package let app: String
    package let messageId: Int64?
    package let broadcastId: Int64?
    package let reference: String?
    package let token: String?
    package let status: Int16?
    package let reason: String?
    package let unregisteredAt: Moment?
    package let sent: Int64?
    package let failed: Int64?
    package let expired: Int64?
    package let cancelled: Int64?
}
