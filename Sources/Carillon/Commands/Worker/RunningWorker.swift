import ApplePush
import CarillonHTTPClient
import CarillonIO
import CarillonPushQueue
import CarillonSchema
import CarillonText
import CarillonWebhooks
import Synchronization

/// The worker of one of the databases that the program serves, and its state.
final class RunningWorker: Sendable {
    enum Ending: Sendable {
        case worked(Worker.Summary)
        /// It never started.
        case failed(ExitStatus)
    }

    /// Longer than a request of a webhook may take.
    private static let webhookDrain = Duration.seconds(20)

    /// Nil if it is the only database.
    let label: String?
    let log: Log
    let gauges: DatabaseGauges
    private let worker: Worker
    private let webhooks: WebhookRunner
    private let loop: EventLoop
    private let whenReady: @Sendable () -> Void
    private let wasStopped = Atomic(false)

    /// - Parameters:
    ///   - tells: whether the log has such an event.
    ///   - whenReady: called once the database has been checked and the worker may work. It may be called again.
    init(
        _ options: WorkerOptions,
        label: String?,
        ceiling: FlightCeiling.Member?,
        peers: WorkerPeers,
        backend: TransportBackend,
        client: HTTPClient,
        loop: EventLoop,
        log: Log,
        tells: @escaping @Sendable (WorkerEvent.Kind) -> Bool = { _ in true },
        whenReady: @escaping @Sendable () -> Void = {}
    ) {
        let log = label.map { log.adding(["database": $0]) } ?? log
        self.label = label
        self.log = log
        self.loop = loop
        self.whenReady = whenReady
        gauges = DatabaseGauges(database: options.database, loop: loop)
        worker = Worker(
            options,
            backend: backend,
            loop: loop,
            ceiling: ceiling,
            peers: peers,
            traffic: { backend.traffic },
            events: { if tells($0.kind) { log.write($0) } }
        )
        webhooks = WebhookRunner(
            options.database,
            tries: WebhookTries(
                take: { [worker] in await worker.takeTry() },
                spend: { [worker] in await worker.spendTry() }
            ),
            client: client,
            version: options.version,
            on: loop
        ) { log.write($0) }
    }

    var counters: WorkerCounters { worker.counters }
    var webhookCounts: WebhookCounts { webhooks.counts }
    var isStopping: Bool { wasStopped.load(ordering: .relaxed) }

    func drain() {
        wasStopped.store(true, ordering: .relaxed)
        worker.drain()
    }

    func giveUp() {
        wasStopped.store(true, ordering: .relaxed)
        worker.giveUp()
        Task { await webhooks.giveUp() }
    }

    // MARK: Working

    /// Runs to the end; throws if it cannot start.
    func run() async throws -> Ending {
        // On a wrong schema every statement would fail, and some might miss their indexes. A copy must not send.
        // Beside the worker, once it may work.
        let (checked, hasChecked) = AsyncStream<Void>.makeStream()
        await webhooks.begin()
        let posting = Task { for await _ in checked { await webhooks.run() } }
        let end: @Sendable () async -> Void = { [webhooks] in
            hasChecked.finish()
            await webhooks.stop(within: Self.webhookDrain)
            await posting.value
        }
        let summary = try await Cleanup.after(end) {
            try await worker.run { connection in
                try await SchemaCheck.runWithPlans(on: connection)
                try await InstallationCheck.run(on: connection)
                whenReady()
                if !worker.options.once { hasChecked.yield() }
            }
        }
        if worker.options.once, !isStopping {
            await webhooks.begin()
            try await webhooks.runOnce()
        }
        return .worked(summary)
    }

    /// Runs to the end. If it cannot start, it tries again while the other databases are served, unless the worker runs
    /// with --once.
    func runBesideOthers() async -> Ending {
        var backOff = BackOff(from: .seconds(1), to: .seconds(15))
        var random = SystemRandomNumberGenerator()
        while true {
            do {
                return try await run()
            } catch {
                let error = CommandError(explaining: error)
                let fields: KeyValuePairs<String, any JSONConvertible> = ["error": error.sentence, "hint": error.hint]
                if isStopping || worker.options.once {
                    log.error("This database could not be served.", fields)
                    return .failed(error.status)
                }
                log.error("This database cannot be served yet; trying again.", fields)
                await wait(backOff.next(using: &random))
                if isStopping { return .failed(error.status) }
            }
        }
    }

    /// Returns when the time is over, or when it is told to stop.
    private func wait(_ wait: Duration) async {
        let end = MonotonicInstant.now + wait
        while .now < end, !isStopping { try? await loop.sleep(for: .milliseconds(100)) }
    }
}
