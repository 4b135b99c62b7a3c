import ApplePush
import IO
import Postgres
import PushQueue
import Synchronization
import Web

extension Command {
    static let worker = Command(
        "worker",
        summary: "Claim messages, send them and write down what became of them, until told to stop.",
        discussion:
            "SIGTERM drains: nothing more is claimed, answers are waited for and settled. A second one gives up "
            + "at once and leaves every unsent job claimable. Ends with 0 when all that was claimed is settled, 69 when "
            + "the database cannot be reached at the start, 75 when it gave up, 78 when the schema is missing or not "
            + "this program's; with --once also with 69 or 78 when an app could not send.",
        options: [
            .once, .maxInFlight, .connections, .idleTimeout, .requestTimeout, .drainTimeout, .lease, .patience,
            .retryBase, .retryCap, .retention, .http, .embedded, .data, .database,
        ],
        examples: [
            "carillon worker --database postgresql://localhost/shop --http 127.0.0.1:9464",
            "carillon worker --once",
            "carillon worker --embedded --data /var/lib/carillon",
        ],
        isService: true,
        run: { try await Work(invocation: $0).run() }
    )
}

private struct Work: Sendable {
    private enum Phase: Int { case working, stopping, givenUp }

    let invocation: Invocation

    func run() async throws -> ExitStatus {
        try await LoopScope.with { loop in
            guard invocation.settings.isOn(.embedded) else {
                if invocation.settings.text(.data) != nil {
                    throw UsageError("--data goes with --embedded: it is where that keeps its PostgreSQL.")
                }
                return try await work(on: invocation.settings.text(.database) ?? "", loop)
            }
            return try await EmbeddedDatabase.with(invocation, on: loop) { url in try await work(on: url, loop) }
        }
    }

    private func work(on database: String, _ loop: EventLoop) async throws -> ExitStatus {
        try await Self.checkSchema(of: database, on: loop)
        let backend = HTTP2Backend(HTTP2Configuration(invocation.settings))
        let phase = Atomic(Phase.working.rawValue)
        let log = WorkerLog(log: invocation.console.log)
        let worker = Worker(WorkerOptions(invocation.settings, database: database), backend: backend, loop: loop) {
            event in
            if case .draining = event { phase.store(Phase.stopping.rawValue, ordering: .relaxed) }
            if case .gaveUp = event { phase.store(Phase.givenUp.rawValue, ordering: .relaxed) }
            log.tell(event)
        }
        let gauges = AppGauges(database: database, loop: loop)
        let endpoints = WorkerEndpoints(
            loop: loop,
            gauges: gauges,
            counters: { worker.counters },
            traffic: { backend.traffic },
            isStopping: { phase.load(ordering: .relaxed) != Phase.working.rawValue }
        )
        let server = invocation.settings.address(.http).map { endpoints.server(at: $0) }
        let result: Result<WorkerReport, any Error>
        do {
            try server?.start()
            if let server { log.log.info("Health and metrics are served.", ["port": .int(Int64(server.port))]) }
            let report = try await Interruption.with(
                on: loop,
                signalled: { $0 == 1 ? worker.drain() : worker.giveUp() }
            ) { try await worker.run() }
            result = .success(report)
        } catch {
            result = .failure(error)
        }
        await backend.shutdown()
        server?.stop()
        await gauges.close()
        return status(of: try result.get(), gaveUp: phase.load(ordering: .relaxed) == Phase.givenUp.rawValue)
    }

    /// A worker that starts on the wrong schema would fail at every turn; better not at all.
    private static func checkSchema(of database: String, on loop: EventLoop) async throws {
        let connection = try await PostgresConnection.connect(
            database,
            on: loop,
            application: "carillon worker",
            to: .writable
        )
        do {
            try await SchemaCheck.run(on: connection)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    private func status(of report: WorkerReport, gaveUp: Bool) -> ExitStatus {
        let total = report.counters.total
        invocation.console.log.info(
            "What it did:",
            [
                "sent": .int(Int64(total.sent)), "failed": .int(Int64(total.failed)),
                "expired": .int(Int64(total.expired)), "retried": .int(Int64(total.retried)),
                "unknown": .int(Int64(total.unknown)),
            ]
        )
        if gaveUp || !report.isClean { return .tryAgain }
        guard invocation.settings.isOn(.once) else { return .done }
        // The log has said what each trouble is when it came up.
        let kinds = report.troubles.map(\.trouble.kind)
        if kinds.contains(where: { $0 == .credential || $0 == .setting }) { return .configuration }
        if kinds.contains(.connection) { return .unavailable }
        return kinds.isEmpty ? .done : .tryAgain
    }
}
