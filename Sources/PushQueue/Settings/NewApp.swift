/// The settings of an app.
package struct NewApp: Sendable, Equatable {
    package var name: String
    /// Usually the bundle id; nil: what the certificate says.
    package var topic: String?
    /// The name of its credential.
    package var credential: String?
    /// "production" or "sandbox".
    package var environment: String
    /// "http2" or "binary".
    package var `protocol`: String
    /// `host:port` instead of Apple's.
    package var gateway: String?
    /// PEM, the trust root of that gateway.
    package var gatewayCA: String?
    /// `host:port` instead of Apple's.
    package var feedbackGateway: String?
    /// Pushes a second, the whole fleet together.
    package var maxRate: Int32?
    package var maxAttempts: Int32?
    /// BadDeviceToken deletes the token too.
    package var reapsBadTokens: Bool

    package init(
        name: String,
        topic: String? = nil,
        credential: String? = nil,
        environment: String = "production",
        protocol: String = "http2",
        gateway: String? = nil,
        gatewayCA: String? = nil,
        feedbackGateway: String? = nil,
        maxRate: Int32? = nil,
        maxAttempts: Int32? = nil,
        reapsBadTokens: Bool = false
    ) {
        self.name = name
        self.topic = topic
        self.credential = credential
        self.environment = environment
        self.protocol = `protocol`
        self.gateway = gateway
        self.gatewayCA = gatewayCA
        self.feedbackGateway = feedbackGateway
        self.maxRate = maxRate
        self.maxAttempts = maxAttempts
        self.reapsBadTokens = reapsBadTokens
    }
}
