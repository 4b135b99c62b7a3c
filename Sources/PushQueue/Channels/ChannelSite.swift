package import ApplePush
package import CarillonPostgres

/// The channel service of an app: where its requests go, and what authenticates them.
package struct ChannelSite: Sendable {
    package let app: Int32
    package let name: String
    /// The bundle ID.
    package let topic: String
    /// Remove channels that this database does not know, a day after they were first seen.
    package let removeUnknownChannels: Bool
    package let gateway: Gateway
    package let credential: Credential

    /// The site of each app, or why its channels cannot be managed. Provider tokens are those of the fleet.
    package static func read(
        _ apps: [Int32],
        on connection: PostgresConnection
    ) async throws(PostgresError) -> [Int32: Result<ChannelSite, Hold>] {
        var sites: [Int32: Result<ChannelSite, Hold>] = [:]
        for app in try await AppWithSecret.all(apps, on: connection) {
            sites[app.app.id] = Result { () throws(Hold) in try ChannelSite(app, on: connection) }
        }
        return sites
    }

    private init(_ row: AppWithSecret, on connection: PostgresConnection) throws(Hold) {
        guard let secret = row.secret, let certificate = row.app.certificateID else { throw row.hasNoCredential }
        let plain = try secret.usable()
        guard let topic = row.app.settings.topic ?? plain.facts.topics.first else {
            throw Hold(
                .setting,
                "App “\(row.app.name)” has no topic, by which the channel service identifies it: set one."
            )
        }
        app = row.app.id
        name = row.app.name
        self.topic = topic
        removeUnknownChannels = row.app.settings.removeUnknownChannels
        gateway = try row.app.channelGateway()
        let since = row.credentialSince ?? 0
        credential = plain.supplied { key, refused in
            let ask: CredentialStatements.TokenAsk = { kept in
                try await CredentialStatements.providerToken(
                    of: certificate,
                    since,
                    refusing: refused,
                    keeping: kept,
                    on: connection
                )
            }
            return try await CredentialStatements.providerToken(by: key, in: [ask]).0
        }
    }

    package func ask(
        _ action: ChannelRequest.Action,
        through backend: any Backend
    ) async -> Result<ChannelRequest.Answer, ChannelError> {
        do throws(ChannelError) {
            return .success(try await backend.manage(ChannelRequest(action, of: topic), at: gateway, with: credential))
        } catch {
            return .failure(error)
        }
    }
}
