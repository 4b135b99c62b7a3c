package import CarillonHTTPClient
package import CarillonIO
package import CarillonPostgres
import CarillonSchema

/// Posts the batches of webhooks that are due, for one database. `WebhookPace` decides when it asks for them, and `WebhookPolicy` what
/// follows from an answer. A batch is posted without a transaction: until its claim is over, no other worker attempts it.
package actor WebhookRunner {
    /// How many webhooks are attempted at the same time. A receiver takes 15 s at most, and then waits for its back-off.
    private static let maxAtOnce = 50
    /// How many of those whose last attempt failed or was slow are attempted besides: they do not delay the others.
    private static let maxApartAtOnce = 25
    private static let timeout = Duration.seconds(15)
    /// How long after it was claimed the batch of a webhook is asked for, and settled, again: its claim is over after a minute.
    private static let longestTry = Duration.seconds(50)

    private let database: DatabaseSource
    private let tries: WebhookTries
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
    private var apartAtOnce = 0
    private var isStopping = false
    private var isAway = false
    /// Why an attempt could not be settled.
    private var failure: (any Error)?
    private var random = SystemRandomNumberGenerator()

    package init(
        _ database: DatabaseSource,
        tries: WebhookTries,
        client: HTTPClient,
        version: String,
        on loop: EventLoop,
        report: @escaping @Sendable (WebhookReport) -> Void
    ) {
        self.database = database
        self.tries = tries
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
        while !isStopping, !Task.isCancelled {
            do {
                try await withConnection { connection in
                    backOff.reset()
                    try await self.listen(on: connection)
                    try await self.work(on: connection, once: false)
                }
            } catch {
                if isStopping || Task.isCancelled { return }
                lost(error)
                if let error = error as? PostgresError, error.isOfStatement { await tries.spend() }
                let next = MonotonicInstant.now + backOff.next(using: &random)
                while .now < next, !isStopping, !Task.isCancelled { await bell.wait(until: next, on: loop) }
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

    private func lost(_ error: any Error) {
        if !isAway { report(.databaseLost(error)) }
        isAway = true
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
        let session = WebhookSession(connection, tries, on: loop)
        failure = nil
        try await withThrowingDiscardingTaskGroup { group in
            while !isStopping {
                pace.asks()
                var claimed: [ClaimedWebhook] = []
                var wait: Duration?
                do {
                    let places = Parameters(Int32(Self.maxAtOnce - atOnce), Int32(Self.maxApartAtOnce - apartAtOnce))
                    claimed = try await session.values(of: WebhookStatements.claim, places)
                    for webhook in claimed {
                        count(webhook, 1)
                        group.addTask { try await self.attempt(webhook, in: session) }
                    }
                    let waits: [Double?] = once ? [] : try await session.values(of: WebhookStatements.wait)
                    wait = waits.compactMap(\.self).first.map { .seconds($0) } ?? (isPooled ? .seconds(60) : nil)
                    if isAway { report(.databaseBack) }
                    isAway = false
                } catch let error as PostgresError where error.isOfStatement && !once {
                    // The session waits before the next one.
                    lost(error)
                    wait = .zero
                }
                if once {
                    if claimed.isEmpty { return }
                    while atOnce + apartAtOnce > 0 { try await rest(until: nil) }
                    continue
                }
                // Without a free place, it waits for one.
                let isFull = atOnce == Self.maxAtOnce || apartAtOnce == Self.maxApartAtOnce
                pace.asked(at: .now, wait: isFull ? .seconds(1) : wait)
                while !isStopping, pace.next.map({ $0 > .now }) ?? true { try await rest(until: pace.next) }
            }
        }
    }

    /// Returns after something has happened, or at that time; throws the error of an attempt that could not be settled.
    private func rest(until end: MonotonicInstant?) async throws {
        await bell.wait(until: end, on: loop)
        try Task.checkCancellation()
        if let error = failure.take() { throw error }
    }

    private func count(_ webhook: ClaimedWebhook, _ change: Int) {
        if webhook.isApart { apartAtOnce += change } else { atOnce += change }
    }

    // MARK: Posting

    private func attempt(_ webhook: ClaimedWebhook, in session: WebhookSession) async throws {
        defer {
            count(webhook, -1)
            bell.ring()
        }
        let end = MonotonicInstant.now + Self.longestTry
        do {
            let (body, events) = try await batch(of: webhook, until: end, in: session)
            let begin = MonotonicInstant.now
            // The retention of all of them is over.
            let outcome =
                events == 0
                ? HTTPOutcome.answered(status: 204, retryAfter: nil) : await post(webhook, body)
            let decision = WebhookPolicy.decide(
                outcome,
                attempt: Int(webhook.attempt),
                failing: webhook.failingSeconds.map { .seconds($0) },
                using: &random
            )
            let isSlow = MonotonicInstant.now - begin > WebhookPolicy.maxPrompt
            try await settle(webhook, decision, events: events, isSlow: isSlow, until: end, in: session)
        } catch let error as PostgresError where error.isOfStatement {
            await refused(webhook, error, in: session)
        } catch {
            failure = error
            throw error
        }
    }

    /// What PostgreSQL refuses for one webhook stops no other.
    private func refused(_ webhook: ClaimedWebhook, _ error: PostgresError, in session: WebhookSession) async {
        let decision = WebhookPolicy.refused(error.message, attempt: Int(webhook.attempt), using: &random)
        do {
            try await settle(webhook, decision, events: 0, isSlow: false, until: .now, in: session)
        } catch let error as PostgresError where error.isOfStatement {
            // It is attempted again once its claim is over.
            report(.failing(webhook: webhook.name, app: webhook.app, error: "PostgreSQL refuses it: \(error.message)"))
        } catch {
            failure = error
        }
    }

    /// Returns the JSON of a batch, and how many events it has. Nothing else of it is kept while it is posted.
    @concurrent
    private nonisolated func batch(
        of webhook: ClaimedWebhook,
        until end: MonotonicInstant,
        in session: WebhookSession
    ) async throws -> (body: [UInt8], events: Int) {
        let events: [WebhookEvent] = try await session.values(
            of: WebhookStatements.batch,
            Parameters(webhook.id, webhook.batchId),
            repeatedUntil: end
        )
        return (WebhookBody.write(events, at: webhook.batchAt), events.count)
    }

    @concurrent
    private nonisolated func post(_ webhook: ClaimedWebhook, _ body: [UInt8]) async -> HTTPOutcome {
        let secrets = webhook.secrets.compactMap { WebhookSecret($0) }
        guard secrets.count == webhook.secrets.count else {
            return .failed("its secret is not one; run 'carillon webhook rotate-secret'")
        }
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
            HTTPRequest(
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
        isSlow: Bool,
        until end: MonotonicInstant,
        in session: WebhookSession
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
        let _: [Bool] = try await session.values(
            of: WebhookStatements.settle,
            Parameters(webhook.id, webhook.batchId, webhook.attempt, error, wait.seconds, pauses, isSlow),
            repeatedUntil: end
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
        if pauses { return report(.paused(webhook: webhook.name, app: webhook.app, error: error)) }
        pace.failed(until: .now + wait)
        if webhook.failingSeconds == nil {
            report(.failing(webhook: webhook.name, app: webhook.app, error: error))
        }
    }
}
