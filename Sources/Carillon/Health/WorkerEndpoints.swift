import ApplePush
import IO
import PushQueue
import Web

/// What a worker answers over HTTP, for orchestrators and for Prometheus.
struct WorkerEndpoints: Sendable {
    let loop: EventLoop
    let sites: [WorkerSite]
    let traffic: @Sendable () -> Traffic
    let log: Log

    func server(at address: Address) -> WebServer {
        WebServer(
            host: address.host,
            port: address.port,
            routes: [
                Route(.get, "/livez") { _ in await live() },
                Route(.get, "/readyz") { _ in ready() },
                Route(.get, "/metrics") { _ in
                    Response(text: await metrics().text, contentType: "text/plain; version=0.0.4; charset=utf-8")
                },
            ]
        )
    }

    /// An answer that went by way of the loop: from a loop that is stuck there is none, which is the point.
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
        for site in sites {
            let reading = await site.gauges.read()
            let metrics = WorkerMetrics(
                counters: site.counters,
                apps: reading.apps,
                maintenance: reading.maintenance,
                database: site.label
            )
            all.merge(metrics.measurements)
        }
        return all
    }

    /// Ready when it can work on every database; of several each has its line.
    private func ready() -> Response {
        if sites.contains(where: \.isStopping) { return Response(text: "stopping\n", status: 503) }
        let now = MonotonicInstant.now
        let states = sites.map { $0.counters.readiness(at: now) }
        let lines = zip(sites, states).map { site, state in
            (site.label.map { $0 + ": " } ?? "") + Self.sentence(on: state) + "\n"
        }
        return Response(text: lines.joined(), status: states.allSatisfy { $0 == .ready } ? 200 : 503)
    }

    private static func sentence(on state: WorkerCounters.Readiness) -> String {
        switch state {
        case .ready: "ready"
        case .disconnected: "the database is not connected"
        case .silent: "the database does not answer"
        case .leaseUnproven: "the lease is not proven"
        }
    }
}
