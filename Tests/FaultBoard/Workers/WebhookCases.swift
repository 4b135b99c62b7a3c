import CarillonIO
import TestSupport
import Testing

/// Receivers of webhooks that do what they must not, and a worker that dies.
@Suite struct WebhookCases {
    @Test(.scene)
    func `R16, W26: hostile receivers of webhooks delay no push, and after a kill the good one lacks no event`()
        async throws
    {
        let silent = try SilentPort(host: "127.0.0.1")
        let ids = Guarded(Set<String>())
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                switch request.headers.first {
                case "POST /endless HTTP/1.1":
                    try await line.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
                    while true { try await line.send([UInt8](repeating: 120, count: 16_384)) }
                case "POST /inward HTTP/1.1":
                    try await line.respond(302, "Location: http://169.254.169.254/\r\n")
                default:
                    let new = request.body.matches(of: /"id":"([^"]+)"/).map { String($0.output.1) }
                    ids.withLock { $0.formUnion(new) }
                    try await line.respond(200)
                }
            }
        } test: { receiver, port in
            for name in ["good", "endless", "inward", "silent"] {
                let port = name == "silent" ? silent.port : port
                try await scene.client.run(
                    """
                    SELECT carillon.add_webhook('\(name)', a.name, 'https://127.0.0.1:\(port)/\(name)', '{sent,failed,expired}',
                        true, '\(receiver.rootPEM)') FROM carillon.apps a ORDER BY a.id LIMIT 1
                    """
                )
            }
            let most = 300
            try await scene.fleet.started(2, ["--max-in-flight", "\(most)"])
            try await scene.enqueue(Board.sized(2000, full: 20_000))
            try await scene.goesOn(200)
            try #require(scene.fleet.running.first).kill()
            try await scene.fleet.started(["--max-in-flight", "\(most)"])
            try await scene.drained()
            // What the dead worker was posting is posted again after a minute.
            try await scene.eventually("the good receiver has accepted all events") {
                try await scene.client.number("SELECT events FROM carillon.webhook_status WHERE name = 'good'") == 0
            }
            let stored = try await scene.client.number(
                """
                SELECT coalesce(sum(coalesce(cardinality(e.sent), 0) + coalesce(cardinality(e.failed), 0)
                    + coalesce(cardinality(e.expired), 0)), 0) FROM carillon.events e
                """
            )
            #expect(ids.withLock { $0.count } == stored && stored > 0)
            try await scene.finish(duplicates: most)
        }
    }
}
