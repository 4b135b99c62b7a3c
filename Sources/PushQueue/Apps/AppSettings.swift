/// What a person sets for an app.
package struct AppSettings: Decodable, Equatable, Sendable {
    /// The environment of Apple's that an app sends to.
    package enum Environment: String, CaseIterable, Decodable, Sendable {
        case production
        case sandbox
    }

    /// What an app speaks with its gateway.
    package enum GatewayProtocol: String, CaseIterable, Decodable, Sendable {
        case http2
        /// Apple has switched it off; other gateways speak it.
        case binary
    }

    package var name: String
    /// Usually the bundle ID. If nil, the topic of the certificate is used.
    package var topic: String?
    /// Further topics that messages may name.
    package var topics: [String]?
    package var credential: String?
    package var environment = Environment.production
    package var `protocol` = GatewayProtocol.http2
    /// `host:port` in place of Apple's gateway.
    package var gateway: String?
    /// PEM, the root certificate of the gateways that are set here.
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

extension AppSetting {
    /// Every setting but the credential, whose column has an id in place of its name. All statements that read or write apps are made
    /// from it.
    package static let all = [
        AppSetting("name") { $0.name },
        AppSetting("topic") { $0.topic },
        AppSetting("topics", texts: { $0.topics }),
        AppSetting("environment") { $0.environment.rawValue },
        AppSetting("protocol") { $0.protocol.rawValue },
        AppSetting("gateway") { $0.gateway },
        AppSetting("gateway_ca") { $0.gatewayCA },
        AppSetting("feedback_gateway") { $0.feedbackGateway },
        AppSetting("channel_gateway") { $0.channelGateway },
        AppSetting("remove_unknown_channels") { $0.removeUnknownChannels },
        AppSetting("max_rate") { $0.maxRate },
        AppSetting("max_per_device") { $0.maxPerDevice },
        AppSetting("max_attempts") { $0.maxAttempts },
        AppSetting("reap_bad_tokens") { $0.reapBadTokens },
        AppSetting("collapse_unknown") { $0.collapseUnknown },
        AppSetting("keep_unique_ids") { $0.keepUniqueIDs },
    ]
}
