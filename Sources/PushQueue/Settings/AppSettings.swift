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
    /// Additional topics that messages may name.
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
    /// Tokens may also belong to the other environment.
    package var bothEnvironments = false
    /// `host:port` in place of Apple's gateway of the other environment.
    package var otherGateway: String?
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
    /// How many seconds the token of each push that was sent is kept.
    package var keepSent: Int64?
    /// Of its quiet hours, and of tokens without one.
    package var timeZone: String?
    /// As in `22:00-07:00`.
    package var quietHours: String?
    /// The highest priority that quiet hours hold.
    package var quietPriority: Int32 = 5

    package init(name: String) { self.name = name }
}

extension AppSetting {
    /// Every setting but the credential, whose column has an id in place of its name. All statements that read or write apps, and
    /// what commands show of them, are made from it.
    package static let all: [AppSetting] = [
        AppSetting("name") { $0.name },
        AppSetting("topic", else: { _ in "the certificate's" }) { $0.topic },
        AppSetting("topics", else: { _ in "no others" }, texts: { $0.topics }),
        AppSetting("environment") { $0.environment.rawValue },
        AppSetting("protocol") { $0.protocol.rawValue },
        AppSetting("gateway", else: { _ in "Apple's" }) { $0.gateway },
        AppSetting("gateway_ca", else: { _ in "the system's" }) { $0.gatewayCA },
        AppSetting("feedback_gateway", else: \.usualFeedbackGateway) { $0.feedbackGateway },
        AppSetting("channel_gateway", else: \.usualChannelGateway) { $0.channelGateway },
        AppSetting("both_environments") { $0.bothEnvironments },
        AppSetting("other_gateway", else: \.usualOtherGateway) { $0.otherGateway },
        AppSetting("remove_unknown_channels") { $0.removeUnknownChannels },
        AppSetting("max_rate", unit: "a second", else: { _ in "no limit" }) { $0.maxRate },
        AppSetting("max_per_device", unit: "background pushes an hour", else: { _ in "no limit" }) { $0.maxPerDevice },
        AppSetting("max_attempts") { $0.maxAttempts },
        AppSetting("reap_bad_tokens") { $0.reapBadTokens },
        AppSetting("collapse_unknown") { $0.collapseUnknown },
        AppSetting("keep_unique_ids") { $0.keepUniqueIDs },
        AppSetting("keep_sent", else: "not kept", seconds: { $0.keepSent }),
        AppSetting("time_zone") { $0.timeZone },
        AppSetting("quiet_hours") { $0.quietHours },
        AppSetting("quiet_priority") { $0.quietPriority },
    ]
}

extension AppSettings {
    /// What is read where the app names no feedback gateway.
    fileprivate var usualFeedbackGateway: String {
        switch (self.protocol, gateway) {
        case (.binary, nil): "Apple's"
        case (.binary, _): "none: no list of dead tokens is read"
        default: "none"
        }
    }

    fileprivate var usualOtherGateway: String { bothEnvironments ? gateway ?? "Apple's" : "none" }

    fileprivate var usualChannelGateway: String { self.protocol == .http2 && gateway == nil ? "Apple's" : "none" }

    /// Why a value cannot be stored, by the name of the constraint.
    static let sentences = [
        "apps_name_is_not_empty": "An app needs a name.",
        "apps_name_is_255_bytes_at_most": "The name of an app may be at most 255 bytes long.",
        "apps_gateway_is_300_bytes_at_most": "A gateway may be at most 300 bytes long.",
        "apps_feedback_gateway_is_300_bytes_at_most": "A feedback gateway may be at most 300 bytes long.",
        "apps_channel_gateway_is_300_bytes_at_most": "A channel gateway may be at most 300 bytes long.",
        "apps_other_gateway_is_300_bytes_at_most":
            "The gateway of the other environment may be at most 300 bytes long.",
        "apps_gateway_ca_is_256_kb_at_most":
            "The root certificate of a gateway may be at most 262,144 bytes long: give the one that has signed its certificate.",
        "apps_topic_is_visible_ascii": "A topic has 1 to 255 visible ASCII characters, as in com.example.app.",
        "apps_topics_are_100_at_most": "An app may list at most 100 additional topics.",
        "apps_topics_are_visible_ascii":
            "Each additional topic has 1 to 255 visible ASCII characters, as in com.example.watch.",
        "apps_gateway_is_host_and_port": "A gateway is written host:port, as in localhost:2197.",
        "apps_feedback_gateway_is_host_and_port": "A feedback gateway is written host:port, as in localhost:2196.",
        "apps_channel_gateway_is_host_and_port": "A channel gateway is written host:port, as in localhost:2195.",
        "apps_other_gateway_is_host_and_port":
            "The gateway of the other environment is written host:port, as in localhost:2198.",
        "apps_gateway_ca_has_a_gateway": "A gateway CA needs a gateway: give its host:port too.",
        "apps_max_rate_is_positive": "The number of pushes a second must be above 0.",
        "apps_max_per_device_is_positive": "The number of background pushes an hour to a device must be above 0.",
        "apps_max_attempts_is_positive": "A push needs at least one attempt.",
        "apps_keep_sent_is_1_hour_to_10_years": "Sent pushes may be kept for 1 hour to 10 years.",
        "apps_time_zone_is_a_name": "A time zone is written by its name, as in Europe/Berlin.",
        "apps_quiet_hours_are_two_times": "Quiet hours are written as two different times, as in 22:00-07:00.",
        "apps_quiet_hours_have_a_time_zone": "Quiet hours need a time zone: give it too, as in Europe/Berlin.",
        "apps_quiet_priority_is_known": "The highest priority that quiet hours hold is 1, 5 or 10.",
    ]
}
