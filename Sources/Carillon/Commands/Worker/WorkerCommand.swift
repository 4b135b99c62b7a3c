import ApplePush
import CarillonDashboard
import CarillonHTTPClient
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonWeb

extension Command {
    static let worker = Command(
        "worker",
        roles: ["carillon_worker"],
        summary: "Claim jobs, send their pushes and record the outcomes, until stopped.",
        discussion: """
            SIGTERM, SIGINT, SIGQUIT or SIGHUP drains: the worker claims nothing more, waits for the answers to what it has sent,
            and settles them. A second signal ends it at once and leaves every unsent job claimable.

            With --once, the worker also creates requested channels. It runs no feedback passes. It exits with 69, 75 or 78 if
            an app could not send.

            With several databases, the worker retries one that it cannot serve until it is stopped, and then exits with the
            status of that failure. With --web, its login also needs the role carillon_reader.
            """,
        options: WorkerOptions.options + [.webhookProxy, .http, .withWeb, .webAddress] + WebAccess.rights + [
            .embedded, .data, .databases,
        ],
        exits: [
            .done: "Everything that it claimed is settled.",
            .failed: "Log lines could not be written.",
            .unavailable: "The database could not be reached at the start.",
            .tryAgain: "It did not finish draining.",
            .configuration: "The schema or rights must be changed, or the database is a copy that was not adopted.",
        ],
        examples: [
            "carillon worker --database postgresql://localhost/shop --http 127.0.0.1:9464",
            "carillon worker --once",
            "carillon worker --database postgresql://db1/shop --database postgresql://db2/news",
            "carillon worker --embedded --data /var/lib/carillon --web --local-changes",
        ],
        isService: true,
        run: { try await WorkerCommand(invocation: $0).run() }
    )
}

private struct WorkerCommand: Sendable {
    let invocation: Invocation

    func run() async throws -> ExitStatus {
        try await EventLoop.with(name: "command") { loop in
            try await invocation.manager.watching(loop) { try await run(on: loop) }
        }
    }

    private func run(on loop: EventLoop) async throws -> ExitStatus {
        guard invocation.settings.isOn(.embedded) else {
            if invocation.settings.text(.data) != nil {
                throw UsageError("--data needs --embedded: it is the folder of the embedded PostgreSQL.")
            }
            return try await work(on: invocation.settings.databases, loop)
        }
        return try await EmbeddedDatabase.with(invocation, on: loop) { url in
            try await work(on: [DatabaseSetting(url)], loop)
        }
    }

    private func work(on databases: [DatabaseSetting], _ loop: EventLoop) async throws -> ExitStatus {
        let dashboard = try dashboard(of: databases, loop)
        let backend = TransportBackend(
            http2: HTTP2Backend(HTTP2Configuration(invocation.settings)),
            binary: BinaryBackend(BinaryConfiguration(invocation.settings, invocation.console.log))
        )
        let client = HTTPClient(proxy: invocation.settings.text(.webhookProxy))
        let workers = workers(for: databases, backend, client, loop)
        let endpoints = WorkerEndpoints(
            loop: loop,
            workers: workers,
            traffic: { backend.traffic },
            log: invocation.console.log
        )
        let server = invocation.settings.address(.http).map { endpoints.server(at: $0) }
        let end: @Sendable () async -> Void = {
            client.stop()
            await backend.shutdown()
            server?.stop()
            await dashboard?.stop()
            for worker in workers { await worker.gauges.close() }
        }
        let endings = try await Cleanup.after(end) {
            try server?.start()
            if let server { invocation.console.log.info("Health and metrics are served.", ["port": server.port]) }
            try dashboard?.start(invocation.console.log)
            return try await Interruption.with(
                on: loop,
                signalled: { count in
                    if count == 1 { invocation.manager.tellStopping() }
                    for worker in workers { count == 1 ? worker.drain() : worker.giveUp() }
                    if count > 1 { client.stop() }
                }
            ) { try await run(workers) }
        }
        return .worst(of: zip(workers, endings).map { status(of: $1, for: $0) })
    }

    /// The dashboards that --web serves, with the logins of the worker.
    private func dashboard(of databases: [DatabaseSetting], _ loop: EventLoop) throws -> DashboardService? {
        guard invocation.settings.isOn(.withWeb), let address = invocation.settings.address(.webAddress) else {
            return nil
        }
        return try DashboardService(
            invocation.settings,
            databases: databases,
            at: address,
            loop: loop,
            log: invocation.console.log
        )
    }

    /// One worker for each database. They share the connections to the gateways, provider tokens, and one limit of pushes in flight.
    private func workers(
        for databases: [DatabaseSetting],
        _ backend: TransportBackend,
        _ client: HTTPClient,
        _ loop: EventLoop
    ) -> [RunningWorker] {
        let labels = DatabaseLabel.ifSeveral(databases.map(\.text))
        let ceiling = FlightCeiling(limit: invocation.settings.count(.maxInFlight), workers: databases.count)
        let peers = WorkerPeers()
        return databases.indices.map { index in
            RunningWorker(
                WorkerOptions(invocation.settings, database: databases[index].source),
                label: labels[index],
                ceiling: databases.count > 1 ? ceiling.member(index) : nil,
                peers: peers,
                backend: backend,
                client: client,
                loop: loop,
                log: invocation.console.log,
                whenReady: { invocation.manager.tellReady() }
            )
        }
    }

    private func run(_ workers: [RunningWorker]) async throws -> [RunningWorker.Ending] {
        if workers.count == 1 { return [try await workers[0].run()] }
        return await workers.mapAtOnce { await $0.runBesideOthers() }
    }

    private func status(of ending: RunningWorker.Ending, for worker: RunningWorker) -> ExitStatus {
        switch ending {
        case .failed(let status): status
        case .worked(let summary): status(of: summary, for: worker)
        }
    }

    private func status(of summary: Worker.Summary, for worker: RunningWorker) -> ExitStatus {
        let total = summary.counters.total
        worker.log.info(
            "Totals of this run.",
            [
                "sent": total.sent, "failed": total.failed, "expired": total.expired, "retried": total.retried,
                "unknown": total.unknown,
            ]
        )
        if summary.counters.hasGivenUp || !summary.isClean { return .tryAgain }
        guard invocation.settings.isOn(.once) else { return .done }
        // The log has reported each problem when it occurred. An app that was paused by a breaker counts as a problem too.
        if !summary.counters.breakers.isEmpty { return .configuration }
        return .worst(of: summary.holds.map { Self.status(of: $0.hold.kind) })
    }

    private static func status(of kind: Hold.Kind) -> ExitStatus {
        switch kind {
        case .credential, .setting: .configuration
        case .connection: .unavailable
        case .providerToken, .tokenUpdates, .database: .tryAgain
        }
    }
}
