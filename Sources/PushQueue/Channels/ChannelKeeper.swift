import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonSchema
import CarillonText

/// Asks Apple to create and remove channels, records what became of it, and compares the channels with Apple's lists.
final class ChannelKeeper {
    /// A channel that Apple has made and the table does not have yet.
    private struct Unrecorded {
        let task: ChannelTask
        let channel: ChannelID
    }

    private let context: WorkerContext
    private var unrecorded = Fifo<Unrecorded>()
    private var turns = ChannelTurns()

    init(_ context: WorkerContext) { self.context = context }

    var hasUnrecorded: Bool { !unrecorded.isEmpty }

    func manage(on connection: PostgresConnection) async throws(PostgresError) {
        try await record(on: connection)
        turns.beginRound()
        // One at a time: those that wait for Apple's answer could be taken over meanwhile.
        while context.goesOn, let task = try await take(on: connection) {
            let sites = try await ChannelSite.read([task.appID], on: connection)
            do throws(PostgresError) {
                try await manage(task, at: sites[task.appID], on: connection)
            } catch {
                // The requests of others go on; this one is taken again in a minute.
                guard await mayTryNext(after: error) else { throw error }
                log(error.description, about: task, isFinal: false)
            }
        }
    }

    /// Ending this round would delay all other requests by a minute. So the round continues, after waiting for its turn in
    /// `RefusedStatementPace`.
    private func mayTryNext(after error: PostgresError) async -> Bool {
        guard error.isRefusal else { return false }
        while let wait = context.event({ $0.refusals.takeOrWait(at: .now) }) {
            guard await context.sleep(for: wait) else { return false }
        }
        return true
    }

    private static let take = Statement("take_channels", "SELECT t.* FROM carillon.take_channels(1, $1) t")

    private func take(on connection: PostgresConnection) async throws(PostgresError) -> ChannelTask? {
        for skipped in turns.choices {
            let parameters = Parameters(PostgresArray(Array(skipped)))
            let tasks: [ChannelTask] = try await connection.values(of: Self.take, parameters)
            if let task = tasks.first { return task }
        }
        return nil
    }

    private func manage(
        _ task: ChannelTask,
        at site: Result<ChannelSite, Hold>?,
        on connection: PostgresConnection
    ) async throws(PostgresError) {
        guard let action = task.action else { return try await record(.gone, of: task, on: connection) }
        let result: Result<ChannelRequest.Answer, ChannelError>
        switch site {
        case .success(let site): result = await site.ask(action, through: context.backend)
        case .failure(let hold): result = .failure(ChannelError(.unsent, hold.message))
        case nil: return
        }
        turns.asked(task.appID, isAnswered: ChannelRules.isAnswer(result))
        var random = SystemRandomNumberGenerator()
        try await record(ChannelRules.consequence(of: result, to: task, using: &random), of: task, on: connection)
    }

    private static let gone = Statement("channel_gone", "SELECT carillon.channel_gone($1, $2, $3)")

    private static let failed = Statement(
        "channel_failed",
        "SELECT carillon.channel_failed($1, $2, $3, $4, make_interval(secs => $5), $6)"
    )

    private func record(
        _ consequence: ChannelRules.Consequence,
        of task: ChannelTask,
        on connection: PostgresConnection
    ) async throws(PostgresError) {
        let key = (task.appID, task.reference, task.attempt)
        switch consequence {
        case .made(let channel):
            // Kept until it is recorded: nobody else knows the id.
            unrecorded.append(Unrecorded(task: task, channel: channel))
            try await record(on: connection)
        case .gone:
            try await connection.execute(Self.gone, Parameters(key.0, key.1, key.2))
        case .failed(let error, let again, let isUnknown):
            let parameters = Parameters(key.0, key.1, key.2, error, again?.seconds, isUnknown)
            try await connection.execute(Self.failed, parameters)
            log(error, about: task, isFinal: again == nil)
        }
    }

    private func log(_ error: String, about task: ChannelTask, isFinal: Bool) {
        context.log(.channelFailed(app: task.appID, reference: task.reference, error: error, isFinal: isFinal))
    }

    /// A commit that a crash of the server loses would lose the id for ever.
    private static let made = Statement(
        "channel_made",
        "SELECT carillon.channel_made($1, $2, $3, $4) FROM set_config('synchronous_commit', 'on', true)"
    )

    private func record(on connection: PostgresConnection) async throws(PostgresError) {
        while let next = unrecorded.first {
            let (app, reference, channel) = (next.task.appID, next.task.reference, next.channel.description)
            do throws(PostgresError) {
                let parameters = Parameters(app, reference, next.task.attempt, channel)
                let isRecorded = try await connection.query(Self.made, parameters) { try $0.bool(0, 0) }
                _ = unrecorded.popFirst()
                context.log(
                    isRecorded
                        ? .channelMade(app: app, reference: reference, channel: channel)
                        : .channelMadeTooLate(app: app, reference: reference, channel: channel)
                )
            } catch {
                // Others wait behind it. If it were requested again, Apple would create ever more channels.
                guard error.isRefusal else { throw error }
                _ = unrecorded.popFirst()
                let name = channel.visible
                let sentence = "Apple has created the channel \(name), which PostgreSQL refuses to record: \(error)"
                try await record(.failed(sentence, again: nil, isUnknown: true), of: next.task, on: connection)
            }
        }
    }

    /// The apps whose channels are compared with Apple's lists: those that have or had any.
    private static let listedApps = Statement(
        "channel_apps",
        """
        SELECT a.id FROM carillon.apps a WHERE NOT a.paused AND a.protocol = 'http2' AND (a.remove_unknown_channels
            OR EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = a.id)
            OR EXISTS (SELECT FROM carillon.unknown_channels s WHERE s.app_id = a.id))
        ORDER BY a.id
        """
    )

    func compare(on connection: PostgresConnection) async throws(PostgresError) {
        let apps: [Int32] = try await connection.values(of: Self.listedApps)
        if apps.isEmpty { return }
        let sites = try await ChannelSite.read(apps, on: connection)
        for app in turns.ordered(apps) where context.goesOn {
            guard let site = sites[app] else { continue }  // removed meanwhile
            do throws(PostgresError) {
                guard let failure = try await compare(site, on: connection) else { continue }
                context.log(.channelsNotCompared(app: app, error: failure))
            } catch {
                guard await mayTryNext(after: error) else { throw error }
                context.log(.channelsNotCompared(app: app, error: error.description))
            }
        }
    }

    /// Returns why it could not be done, or not to its end.
    private func compare(
        _ found: Result<ChannelSite, Hold>,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> String? {
        let site: ChannelSite
        switch found {
        case .success(let value): site = value
        case .failure(let hold): return hold.message
        }
        let sync = ChannelSync(site, through: context.backend)
        let entries: [ChannelSync.Entry]
        switch try await sync.compare(on: connection) {
        case .success(let found): entries = found
        case .failure(let error): return error.message
        }
        let rule = ChannelSync.Removal(includesUnknown: site.removeUnknownChannels)
        let (removed, failure) = try await sync.remove(entries, rule, on: connection)
        let unknown = entries.count { $0.state == .unknown } - removed.count
        let missing = entries.count { $0.state == .missing }
        if unknown + missing + removed.count > 0 {
            context.log(.channelsCompared(app: site.name, unknown: unknown, missing: missing, removed: removed.count))
        }
        return failure?.message
    }
}
