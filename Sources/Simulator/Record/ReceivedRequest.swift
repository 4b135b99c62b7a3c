/// One request as the simulator received it.
public struct ReceivedRequest: Sendable, Hashable {
    /// When it was received, in milliseconds since 1970.
    public let time: Int64
    /// The connection that it arrived on, counted from 1.
    public let connection: Int
    /// Its stream on that connection.
    public let stream: Int32
    /// The `apns-id` of the answer: the request's own, or one made for it. For a request about channels, its `apns-request-id`.
    public let apnsID: String
    /// The device token; empty for a request about channels.
    public let token: String
    /// `apns-topic`.
    public let topic: String?
    /// `apns-push-type`.
    public let pushType: String?
    /// `apns-priority`.
    public let priority: String?
    /// `apns-expiration`.
    public let expiration: String?
    /// `apns-collapse-id`.
    public let collapseID: String?
    /// `authorization`.
    public let authorization: String?
    /// The action of a request about channels: `broadcast`, `create`, `read`, `remove` or `list`; nil for a push to a device token.
    public let channelAction: String?
    /// The channel that it names or has created.
    public let channel: String?
    /// The body, byte for byte.
    public let payload: [UInt8]
    /// The answer's status; nil if the request was not answered.
    public let status: Int?
    /// The reason in the answer's body.
    public let reason: String?
}
