import ApplePush
import IO
import Postgres
import PushQueue
import Synchronization

/// One of the databases that the program serves: the worker on it, and how far that has come.
final class WorkerSite: Sendable {
    /// How the work on a database ended.
    enum Ending: Sendable {
        case worked(WorkerReport)
        /// It never began.
        case failed(ExitStatus)
    }

    private final class Progress: Sendable {
        let isStopping = Atomic(false)
        let hasGivenUp = Atomic(false)
    }

    /// Nil: it is the only one, and needs no name.
    let label: String?
    let log: Log
    let gauges: AppGauges
    private let worker: Worker
    private let loop: EventLoop
    private let progress = Progress()

    init(
        _ options: WorkerOptions,
        label: String?,
        share: FlightCeiling.Share?,
        backend: any Backend,
        loop: EventLoop,
        log: Log
    ) {
        let log = label.map { log.adding(["database": .string($0)]) } ?? log
        self.label = label
        self.log = log
        self.loop = loop
        gauges = AppGauges(database: options.database, loop: loop)
        worker = Worker(options, backend: backend, loop: loop, share: share) { [progress] event in
            if case .draining = event { progress.isStopping.store(true, ordering: .relaxed) }
            if case .gaveUp = event { progress.hasGivenUp.store(true, ordering: .relaxed) }
            WorkerLog(log: log).tell(event)
        }
    }

    var counters: WorkerCounters { worker.counters }
    var isStopping: Bool { progress.isStopping.load(ordering: .relaxed) }
    var hasGivenUp: Bool { progress.hasGivenUp.load(ordering: .relaxed) }

    func drain() {
        progress.isStopping.store(true, ordering: .relaxed)
        worker.drain()
    }

    func giveUp() {
        progress.isStopping.store(true, ordering: .relaxed)
        worker.giveUp()
    }

    // MARK: Working

    /// Works to the end; throws when it cannot begin.
    func run() async throws -> Ending {
        try await checkSchema()
        return .worked(try await worker.run())
    }

    /// Works to the end. While it cannot begin, which is no reason for the others to stop, it tries again, unless this
    /// is to be done once.
    func runBesideOthers() async -> Ending {
        var wait = Duration.seconds(1)
        while true {
            do {
                return try await run()
            } catch {
                let error = CommandError(explaining: error)
                let fields: KeyValuePairs<String, JSONValue> = [
                    "error": .string(error.sentence), "hint": JSONValue(error.hint),
                ]
                if isStopping || worker.options.once {
                    log.error("This database could not be served.", fields)
                    return .failed(error.status)
                }
                log.error("This database cannot be served yet, and is tried again.", fields)
                await rest(wait * Double.random(in: 0.5...1))
                if isStopping { return .failed(error.status) }
                wait = min(wait * 2, .seconds(15))
            }
        }
    }

    /// Until the time is over, or it is told to stop.
    private func rest(_ wait: Duration) async {
        let end = MonotonicInstant.now + wait
        while .now < end, !isStopping { try? await loop.sleep(for: .milliseconds(100)) }
    }

    /// A worker that starts on the wrong schema would fail at every turn, and one whose statements miss their indexes
    /// would be slow at every turn; better not at all.
    private func checkSchema() async throws {
        let connection = try await PostgresConnection.connect(
            worker.options.database,
            on: loop,
            application: "carillon worker",
            to: .writable,
            settings: DatabaseScope.settings
        )
        do {
            try await SchemaCheck.runWithPlans(on: connection)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }
}
