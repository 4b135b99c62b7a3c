package import CarillonHTTPClient
package import CarillonIO
package import CarillonPostgres
import CarillonSchema

/// Posts the batches of webhooks that are due, for one database. `WebhookPace` decides when it asks for them, and `WebhookPolicy` what
/// follows from an answer. A batch is posted without a transaction: until its claim is over, no other worker attempts it.
package actor WebhookRunner {
    /// How many webhooks are attempted at the same time. A receiver takes 15 s at most, and then waits for its back-off.
    private static let maxAtOnce = 50
    /// How many of those that fail are attempted besides: receivers that are dead do not delay the others.
    private static let maxFailingAtOnce = 25
    private static let timeout = Duration.seconds(15)

    private let database: DatabaseSource
    private let client: HTTPClient
    private let version: String
    private let loop: EventLoop
    private let report: @Sendable (WebhookReport) -> Void
    private let counted = Guarded(WebhookCounts())
    private let bell = Bell()

    private var connection: PostgresConnection?
    /// Ends it when it takes too long to stop.
    private var limit: Task<Void, Never>?
    private var pace = WebhookPace()
    private var atOnce = 0
    private var failingAtOnce = 0
    private var isStopping = false
    private var isAway = false
    /// Why an attempt could not be settled.
    private var failure: (any Error)?
    private var random = SystemRandomNumberGenerator()

    package init(
        _ database: DatabaseSource,
        client: HTTPClient,
        version: String,
        on loop: EventLoop,
        report: @escaping @Sendable (WebhookReport) -> Void
    ) {
        self.database = database
        self.client = client
        self.version = version
        self.loop = loop
        self.report = report
    }

    package nonisolated var counts: WebhookCounts { counted.withLock { $0 } }

    /// To be called before `run` or `runOnce` if it was stopped before.
    package func begin() {
        limit?.cancel()
        isStopping = false
    }

    /// Runs until `stop`.
    package func run() async {
        defer { limit?.cancel() }
        var backOff = BackOff(from: .seconds(1), to: .seconds(30))
        while !isStopping {
            do {
                try await withConnection { connection in
                    backOff.reset()
                    try await self.listen(on: connection)
                    try await self.work(on: connection, once: false)
                }
            } catch {
                if isStopping { return }
                if !isAway { report(.databaseLost(error)) }
                isAway = true
                let next = MonotonicInstant.now + backOff.next(using: &random)
                while .now < next, !isStopping { await bell.wait(until: next, on: loop) }
            }
        }
    }

    /// Posts what is due now, and returns.
    package func runOnce() async throws {
        try await withConnection { try await self.work(on: $0, once: true) }
    }

    /// Claims nothing more; `run` returns when the requests under way have ended and are settled, or soon after the time limit.
    package func stop(within limit: Duration) {
        isStopping = true
        bell.ring()
        self.limit = Task {
            try? await loop.sleep(for: limit)
            if !Task.isCancelled { await giveUp() }
        }
    }

    /// Ends at once, even if PostgreSQL is silent. Unsettled batches are attempted again once their claims are over.
    package func giveUp() async {
        isStopping = true
        bell.ring()
        await connection?.close()
    }

    private func withConnection(_ body: (PostgresConnection) async throws -> Void) async throws {
        let settings = SessionSettings.unhurried.with(["lock_timeout": "2s", "carillon.source": "worker"])
            .limited(to: .seconds(30))
        let connection = try await PostgresConnection.connect(
            database,
            on: loop,
            application: "carillon webhooks",
            to: .writable,
            settings: settings,
            timeout: .seconds(5),
            silence: .beyond(.seconds(30))
        )
        self.connection = connection
        try await Cleanup.after({ await connection.close() }) {
            guard !isStopping else { return }
            // A copy of the database must not post what the original posts.
            try await InstallationCheck.run(on: connection)
            if isAway { report(.databaseBack) }
            isAway = false
            try await body(connection)
        }
    }

    /// Behind a pooler, nothing would be heard: then it asks each minute.
    private func listen(on connection: PostgresConnection) async throws {
        pace = WebhookPace()
        guard await !connection.isPooled else { return }
        try await connection.listen(to: EventNotifications.channel) { Task { await self.notified() } }
    }

    private func notified() {
        pace.notified()
        bell.ring()
    }

    // MARK: Asking

    private func work(on connection: PostgresConnection, once: Bool) async throws {
        let isPooled = await connection.isPooled
        failure = nil
        try await withThrowingDiscardingTaskGroup { group in
            while !isStopping {
                pace.asks()
                let claimed: [ClaimedWebhook] = try await connection.values(
                    of: WebhookStatements.claim,
                    Parameters(Int32(Self.maxAtOnce - atOnce), Int32(Self.maxFailingAtOnce - failingAtOnce))
                )
                for webhook in claimed {
                    count(webhook, 1)
                    group.addTask { try await self.attempt(webhook, on: connection) }
                }
                if once {
                    if claimed.isEmpty { return }
                    while atOnce + failingAtOnce > 0 { try await rest(until: nil) }
                    continue
                }
                let waits: [Double?] = try await connection.values(of: WebhookStatements.wait)
                let wait =
                    waits.compactMap(\.self).first.map { Duration.seconds($0) } ?? (isPooled ? .seconds(60) : nil)
                // Without a free place, it waits for one.
                let isFull = atOnce == Self.maxAtOnce || failingAtOnce == Self.maxFailingAtOnce
                pace.asked(at: .now, wait: isFull ? .seconds(1) : wait)
                while !isStopping, pace.next.map({ $0 > .now }) ?? true { try await rest(until: pace.next) }
            }
        }
    }

    /// Returns after something has happened, or at that time; throws the error of an attempt that could not be settled.
    private func rest(until end: MonotonicInstant?) async throws {
        await bell.wait(until: end, on: loop)
        if let error = failure.take() { throw error }
    }

    private func count(_ webhook: ClaimedWebhook, _ change: Int) {
        if webhook.failingSeconds == nil { atOnce += change } else { failingAtOnce += change }
    }

    // MARK: Posting

    private func attempt(_ webhook: ClaimedWebhook, on connection: PostgresConnection) async throws {
        defer {
            count(webhook, -1)
            bell.ring()
        }
        do {
            let events: [WebhookEvent] = try await connection.values(
                of: WebhookStatements.batch,
                Parameters(webhook.id, webhook.batchId)
            )
            // The retention of all of them is over.
            let outcome =
                events.isEmpty
                ? HTTPOutcome.answered(status: 204, retryAfter: nil) : await post(webhook, events)
            let decision = WebhookPolicy.decide(
                outcome,
                attempt: Int(webhook.attempt),
                failing: webhook.failingSeconds.map { .seconds($0) },
                using: &random
            )
            try await settle(webhook, decision, events: events.count, on: connection)
        } catch {
            failure = error
            throw error
        }
    }

    @concurrent
    private nonisolated func post(_ webhook: ClaimedWebhook, _ events: [WebhookEvent]) async -> HTTPOutcome {
        let secrets = webhook.secrets.compactMap { WebhookSecret($0) }
        guard secrets.count == webhook.secrets.count else {
            return .failed("its secret is not one; run 'carillon webhook rotate-secret'")
        }
        let body = WebhookBody.write(events, at: webhook.batchAt)
        let headers = [
            (name: "Content-Type", value: "application/json"), (name: "User-Agent", value: "Carillon/\(version)"),
        ]
        let signature = WebhookSecret.headers(
            secrets,
            body: body,
            id: webhook.batchId,
            timestamp: WallClock.seconds
        )
        return await client.send(
            HTTPPost(
                to: webhook.url,
                headers: headers + signature,
                body: body,
                roots: webhook.ca,
                allowsPrivate: webhook.allowsPrivate,
                timeout: Self.timeout
            )
        )
    }

    private func settle(
        _ webhook: ClaimedWebhook,
        _ decision: WebhookPolicy.Decision,
        events: Int,
        on connection: PostgresConnection
    ) async throws {
        let error: String?
        var wait = Duration.zero
        var pauses = false
        switch decision {
        case .abandon: return
        case .accepted: error = nil
        case .retry(let after, let why): (error, wait) = (why, after)
        case .pause(let why): (error, pauses) = (why, true)
        }
        try await connection.execute(
            WebhookStatements.settle,
            Parameters(webhook.id, webhook.batchId, webhook.attempt, error, wait.seconds, pauses)
        )
        counted.withLock { counts in
            counts.count(webhook.name) {
                if error == nil { $0.accepted += 1 } else { $0.failed += 1 }
                $0.events += error == nil ? events : 0
            }
        }
        guard let error else {
            if webhook.failingSeconds != nil { report(.recovered(webhook: webhook.name, app: webhook.app)) }
            return pace.accepted()
        }
        if pauses {
            report(.paused(webhook: webhook.name, app: webhook.app, error: error))
        } else if webhook.failingSeconds == nil {
            report(.failing(webhook: webhook.name, app: webhook.app, error: error))
        }
    }
}
