import ApplePush
import IO
import PushQueue
import Web

/// What a worker answers over HTTP, for orchestrators and for Prometheus.
struct WorkerEndpoints: Sendable {
    let loop: EventLoop
    let gauges: AppGauges
    let counters: @Sendable () -> WorkerCounters
    let traffic: @Sendable () -> Traffic
    let isStopping: @Sendable () -> Bool

    func server(at address: Address) -> WebServer {
        WebServer(
            host: address.host,
            port: address.port,
            routes: [
                Route(.get, "/livez") { _ in await live() },
                Route(.get, "/readyz") { _ in ready() },
                Route(.get, "/metrics") { _ in
                    let metrics = WorkerMetrics(
                        counters: counters(),
                        traffic: traffic(),
                        apps: await gauges.read(),
                        version: Program.version
                    )
                    return Response(text: metrics.text, contentType: "text/plain; version=0.0.4; charset=utf-8")
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

    private func ready() -> Response {
        if isStopping() { return Response(text: "stopping\n", status: 503) }
        guard counters().isConnected else { return Response(text: "the database is not connected\n", status: 503) }
        return Response(text: "ready\n")
    }
}
