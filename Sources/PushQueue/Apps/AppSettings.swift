/// What a person sets for an app.
package struct AppSettings: Decodable, Equatable, Sendable {
    package var name: String
    /// The bundle identifier, as a rule; nil: the topic of the certificate.
    package var topic: String?
    package var credential: String?
    package var environment = AppEnvironment.production
    package var `protocol` = AppProtocol.http2
    /// `host:port` in place of Apple's gateway.
    package var gateway: String?
    /// PEM, the trust root of the gateways that are set here.
    package var gatewayCA: String?
    /// `host:port` in place of Apple's feedback service.
    package var feedbackGateway: String?
    /// `host:port` in place of Apple's channel service.
    package var channelGateway: String?
    /// Remove channels that Apple has and this database does not know.
    package var removeUnknownChannels = false
    /// Pushes a second of the whole fleet.
    package var maxRate: Int32?
    /// Background pushes an hour to one device token.
    package var maxPerDevice: Int32?
    package var maxAttempts: Int32 = 10
    /// Also delete tokens that fail as BadDeviceToken.
    package var reapBadTokens = false
    /// A push of unknown outcome is sent again with its `apns-id` as collapse id.
    package var collapseUnknown = false
    /// Keep the `apns-unique-id` of each push.
    package var keepUniqueIDs = false

    package init(name: String) { self.name = name }
}
