import ApplePush
import IO
import PushQueue
import Web

/// What a worker answers over HTTP, for orchestrators and for Prometheus.
struct WorkerEndpoints: Sendable {
    let loop: EventLoop
    let sites: [WorkerSite]
    let traffic: @Sendable () -> Traffic

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
        var all = ProgramMetrics(traffic: traffic(), version: Program.version).measurements
        for site in sites {
            let metrics = WorkerMetrics(
                counters: site.counters,
                apps: await site.gauges.read(),
                database: site.label
            )
            all.merge(metrics.measurements)
        }
        return all
    }

    /// Ready when every database is connected; of several each has its line.
    private func ready() -> Response {
        if sites.contains(where: \.isStopping) { return Response(text: "stopping\n", status: 503) }
        let lines = sites.map { site in
            (site.label.map { $0 + ": " } ?? "")
                + (site.counters.isConnected ? "ready\n" : "the database is not connected\n")
        }
        let isReady = sites.allSatisfy(\.counters.isConnected)
        return Response(text: lines.joined(), status: isReady ? 200 : 503)
    }
}
