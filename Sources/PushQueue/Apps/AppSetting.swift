import CarillonPostgres
package import CarillonText

/// A setting of an app: its column in `apps`, and its value there and in JSON. What reads apps and what writes them uses `all`.
package struct AppSetting: Sendable {
    package let column: String
    let append: @Sendable (AppSettings, inout Parameters) -> Void
    package let json: @Sendable (AppSettings) -> JSONValue

    private init<Value: Parameter & JSONConvertible>(
        _ column: String,
        _ value: @escaping @Sendable (AppSettings) -> Value
    ) {
        self.column = column
        append = { $1.append(value($0)) }
        json = { value($0).json }
    }

    /// Without the credential, whose column has an id in place of its name.
    package static let all = [
        AppSetting("name") { $0.name },
        AppSetting("topic") { $0.topic },
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
