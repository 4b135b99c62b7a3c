package import ApplePush
package import CarillonPostgres
package import CarillonSchema

/// Compares the channels of an app with Apple's list, and removes what nobody has recorded.
package struct ChannelSync: Sendable {
    /// A channel, as the table and Apple's list have it.
    package struct Entry: Decodable, Sendable, Equatable {
        /// Nil if Apple has not created it yet.
        package let channelID: String?
        /// Nil if the table does not have it.
        package let reference: String?
        package let state: ChannelRecord.State
        /// A worker of this database has made it.
        package let isOurs: Bool
        /// When an unknown one was first seen.
        package let firstSeenAt: Moment?
    }

    /// Which unknown channels are removed.
    package struct Removal: Sendable {
        /// Also those that are not known to be ours.
        package let includesUnknown: Bool
        /// How long an unknown one has been known.
        package let grace: Duration

        package init(includesUnknown: Bool, grace: Duration = .seconds(86_400)) {
            self.includesUnknown = includesUnknown
            self.grace = grace
        }

        func removes(_ entry: Entry, at now: Moment) -> Bool {
            guard entry.state == .unknown else { return false }
            if entry.isOurs { return true }
            guard includesUnknown, let firstSeenAt = entry.firstSeenAt else { return false }
            return .microseconds(now.microseconds - firstSeenAt.microseconds) >= grace
        }
    }

    private let site: ChannelSite
    private let backend: any Backend

    package init(_ site: ChannelSite, through backend: any Backend) {
        self.site = site
        self.backend = backend
    }

    private static let clock = Statement("channels_clock", "SELECT clock_timestamp()")

    private static let listed = Statement(
        "channels_listed",
        """
        SELECT l.channel_id, l.reference, l.state, coalesce(l.is_ours, false) AS is_ours, l.first_seen_at
        FROM carillon.channels_listed($1, $2::text[], $3) l
        """
    )

    /// Reads Apple's list, and records the difference.
    package func compare(
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Result<[Entry], ChannelError> {
        let now = try await connection.query(Self.clock) { try $0.moment(0, 0) }
        switch await site.ask(.list, through: backend) {
        case .success(.list(let channels)):
            let parameters = Parameters(site.app, PostgresArray(channels.map(\.description)), now)
            return .success(try await connection.values(of: Self.listed, parameters))
        case .success:
            return .failure(ChannelError(.malformed, "The channel service answered a different request."))
        case .failure(let error): return .failure(error)
        }
    }

    private static let forget = Statement(
        "forget_unknown_channel",
        """
        WITH gone AS (DELETE FROM carillon.unknown_channels s WHERE s.app_id = $1 AND s.channel_id = $2 RETURNING s.*)
        SELECT carillon.record_on_behalf('remove channel', g.app_id, jsonb_build_object('channel_id', g.channel_id)) FROM gone g
        """
    )

    /// Removes the unknown channels that the rule names, and returns them. The first refusal ends it.
    package func remove(
        _ entries: [Entry],
        _ rule: Removal,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> (removed: [String], failure: ChannelError?) {
        let now = try await connection.query(Self.clock) { try $0.moment(0, 0) }
        var removed: [String] = []
        for entry in entries where rule.removes(entry, at: now) {
            guard let channel = entry.channelID else { continue }
            if case .failure(let error) = await site.ask(.remove(ChannelID(channel)), through: backend),
                !ChannelRules.isGone(error)
            {
                return (removed, error)
            }
            try await connection.execute(Self.forget, Parameters(site.app, channel))
            removed.append(channel)
        }
        return (removed, nil)
    }
}
