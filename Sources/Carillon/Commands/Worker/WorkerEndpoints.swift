import ApplePush
import CarillonIO
import CarillonPushQueue
import CarillonText
import CarillonWeb

/// The HTTP endpoints of a worker, for orchestrators and for Prometheus.
struct WorkerEndpoints: Sendable {
    let loop: EventLoop
    /// One for each database.
    let workers: [RunningWorker]
    let traffic: @Sendable () -> Traffic
    let log: Log

    func server(at address: Address) -> WebServer {
        let warnings = ClientWarnings(log)
        let shared = SharedMetrics { await metrics() }
        return WebServer(
            host: address.host,
            port: address.port,
            admission: { $0.refusalOfName(at: address) },
            observer: { warnings.tell($0) },
            routes: [
                Route(.get, "/livez") { _ in await live() },
                Route(.get, "/readyz") { _ in ready() },
                Route(.get, "/metrics") { _ in await shared.response() },
            ]
        )
    }

    /// Answered on the loop: if the loop is stuck there is no answer, as a liveness probe expects.
    private func live() async -> Response {
        do {
            try await loop.sleep(for: .zero)
            return Response(text: "alive\n")
        } catch {
            return Response(text: "ending\n", status: 503)
        }
    }

    private func metrics() async -> MetricsText {
        let program = ProgramMetrics(traffic: traffic(), logLinesLost: log.linesLost, version: Program.version)
        var all = program.measurements
        // At once, so that databases that do not answer delay the response only once.
        let readings = workers.map { worker in Task { await worker.gauges.read() } }
        for (worker, reading) in zip(workers, readings) {
            let reading = await reading.value
            let metrics = WorkerMetrics(
                counters: worker.counters,
                reading: reading,
                database: worker.label,
                webhooks: worker.webhookCounts
            )
            all.merge(metrics.measurements)
        }
        return all
    }

    /// Ready if it can work on every database. If there are several, each has its line.
    private func ready() -> Response {
        if workers.contains(where: \.isStopping) { return Response(text: "stopping\n", status: 503) }
        let now = MonotonicInstant.now
        let counters = workers.map(\.counters)
        let lines = zip(workers, counters).map { worker, counters in
            (worker.label.map { $0 + ": " } ?? "") + Self.sentence(on: counters, at: now) + "\n"
        }
        let isReady = counters.allSatisfy { $0.readiness(at: now) == .ready }
        return Response(text: lines.joined(), status: isReady ? 200 : 503)
    }

    private static func sentence(on counters: WorkerCounters, at now: MonotonicInstant) -> String {
        switch counters.readiness(at: now) {
        case .ready: counters.asleepSince.map { "ready, asleep since \(time(of: $0, at: now))" } ?? "ready"
        case .disconnected: "the database is not connected"
        case .silent: "the database does not answer"
        case .leaseUnproven: "the lease is not proven"
        }
    }

    private static func time(of instant: MonotonicInstant, at now: MonotonicInstant) -> String {
        TimeText.seconds(WallClock.microseconds - (now - instant).nanoseconds / 1000)
    }
}
