package import ApplePush
package import CarillonPostgres

/// A row of `apps`, with the name of its credential.
@dynamicMemberLookup
package struct App: Equatable, Identifiable, Sendable {
    /// Where the pushes of an app go, and what authenticates them.
    package struct Route: Hashable, Sendable {
        package let gateway: Gateway
        package let credential: Credential
    }

    package let id: Int32
    package internal(set) var settings: AppSettings
    /// The id of its credential.
    var certificate: Int32?
    package internal(set) var isPaused = false
    /// Why it is paused, if known.
    package internal(set) var pauseReason: String?
    /// Microseconds since 1970.
    package internal(set) var createdAt: Int64 = 0
    package internal(set) var updatedAt: Int64 = 0

    package subscript<Value>(dynamicMember setting: KeyPath<AppSettings, Value>) -> Value { settings[keyPath: setting] }

    func gateway() throws(Hold) -> Gateway {
        let transport: Gateway.Transport = settings.protocol == .binary ? .binary : .http2
        if let address = settings.gateway { return try gateway(at: address, transport) }
        guard transport == .http2 else {
            throw Hold(
                .setting,
                "Apple has switched the binary protocol off: set the gateway of app “\(settings.name)”, or its protocol to http2."
            )
        }
        return settings.environment == .sandbox ? .sandbox : .production
    }

    func feedbackGateway() throws(Hold) -> Gateway {
        let apple: Gateway = settings.environment == .sandbox ? .feedbackSandbox : .feedback
        return try settings.feedbackGateway.map { address throws(Hold) in try gateway(at: address) } ?? apple
    }

    func channelGateway() throws(Hold) -> Gateway {
        if let address = settings.channelGateway { return try gateway(at: address) }
        guard settings.gateway == nil else {
            throw Hold(
                .setting,
                "App “\(settings.name)” has a gateway of its own, and no address for channels: set its channel_gateway."
            )
        }
        return settings.environment == .sandbox ? .channelsSandbox : .channels
    }

    private func gateway(at address: String, _ transport: Gateway.Transport = .http2) throws(Hold) -> Gateway {
        do {
            return try Gateway(
                address,
                trust: settings.gatewayCA.map { .pem($0) } ?? .system,
                transport: transport
            )
        } catch {
            throw Hold(.setting, error.message)
        }
    }
}

extension App: RowReadable {
    /// What a statement selects to read apps, with `tables`.
    static let columns = """
        a.id, a.name, a.topic, a.certificate_id, c.name AS credential, a.environment, a.protocol, a.gateway, a.gateway_ca,
        a.feedback_gateway, a.channel_gateway, a.remove_unknown_channels, a.max_rate, a.max_attempts, a.reap_bad_tokens,
        a.collapse_unknown, a.keep_unique_ids, a.max_per_device, a.paused, a.paused_reason, a.created_at, a.updated_at
        """
    static let tables = "carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id"

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        id = try rows.int32(row, "id")
        settings = AppSettings(name: try rows.string(row, "name"))
        settings.topic = try rows.stringIfPresent(row, "topic")
        settings.credential = try rows.stringIfPresent(row, "credential")
        settings.environment = try rows.choice(row, "environment")
        settings.protocol = try rows.choice(row, "protocol")
        settings.gateway = try rows.stringIfPresent(row, "gateway")
        settings.gatewayCA = try rows.stringIfPresent(row, "gateway_ca")
        settings.feedbackGateway = try rows.stringIfPresent(row, "feedback_gateway")
        settings.channelGateway = try rows.stringIfPresent(row, "channel_gateway")
        settings.removesUnknownChannels = try rows.bool(row, "remove_unknown_channels")
        settings.maxRate = try rows.int32IfPresent(row, "max_rate")
        settings.maxPerDevice = try rows.int32IfPresent(row, "max_per_device")
        settings.maxAttempts = try rows.int32(row, "max_attempts")
        settings.reapsBadTokens = try rows.bool(row, "reap_bad_tokens")
        settings.collapsesUnknown = try rows.bool(row, "collapse_unknown")
        settings.keepsUniqueIDs = try rows.bool(row, "keep_unique_ids")
        certificate = try rows.int32IfPresent(row, "certificate_id")
        isPaused = try rows.bool(row, "paused")
        pauseReason = try rows.stringIfPresent(row, "paused_reason")
        createdAt = try rows.timestamp(row, "created_at")
        updatedAt = try rows.timestamp(row, "updated_at")
    }
}
