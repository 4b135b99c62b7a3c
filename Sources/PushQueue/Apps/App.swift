package import ApplePush
package import CarillonPostgres

/// A row of `apps`, with the name of its credential.
package struct App: Decodable, Equatable, Identifiable, Sendable {
    /// Where the pushes of an app go, and what authenticates them.
    package struct Route: Hashable, Sendable {
        package let gateway: Gateway
        package let credential: Credential
    }

    package let id: Int32
    package internal(set) var settings: AppSettings
    package var name: String { settings.name }
    var certificateID: Int32?
    package internal(set) var isPaused = false
    /// Why it is paused, if known.
    package internal(set) var pausedReason: String?
    package internal(set) var createdAt = Moment(0)
    package internal(set) var updatedAt = Moment(0)

    /// The topics that its messages may have.
    package var allTopics: [String] { (settings.topic.map { [$0] } ?? []) + (settings.topics ?? []) }

    func gateway() throws(Hold) -> Gateway {
        let transport: Gateway.Transport = settings.protocol == .binary ? .binary : .http2
        if let address = settings.gateway { return try gateway(at: address, transport) }
        guard transport == .http2 else {
            throw Hold(
                .setting,
                "Apple has switched off the binary protocol: set the gateway of app “\(settings.name)”, or its protocol to http2."
            )
        }
        return settings.environment == .sandbox ? .sandbox : .production
    }

    /// The gateway of the environment that is not the app's, if its tokens may belong to both.
    func otherGateway() throws(Hold) -> Gateway? {
        guard settings.bothEnvironments else { return nil }
        if let address = settings.otherGateway { return try gateway(at: address, gateway().transport) }
        guard settings.gateway == nil else { return try gateway() }
        return settings.environment == .sandbox ? .production : .sandbox
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
            return try Gateway(address, trust: settings.gatewayCA.map { .pem($0) } ?? .system, transport: transport)
        } catch {
            throw Hold(.setting, error.message)
        }
    }
}

extension App {
    /// What a statement selects to read apps, with `tables`.
    static let columns =
        "a.id, " + AppSetting.all.map { "\($0.selection), " }.joined()
        + "a.certificate_id, c.name AS credential, a.paused, a.paused_reason, a.created_at, a.updated_at"
    static let tables = "carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id"
}
