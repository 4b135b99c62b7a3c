import CarillonIO
import TestSupport
import Testing

/// Receivers of webhooks that do what they must not, and a worker that dies.
@Suite struct WebhookCases {
    private static let maxInFlight = 300

    /// Does what the path says. The good receiver keeps the ids of the events that it accepts.
    private static func serve(_ line: inout RawLine, _ ids: borrowing Guarded<Set<String>>) async throws {
        while let request = try await line.nextWebhookRequest() {
            switch request.headers.first {
            case "POST /endless HTTP/1.1":
                try await line.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
                while true { try await line.send([UInt8](repeating: 120, count: 16_384)) }
            case "POST /inward HTTP/1.1":
                try await line.respond(302, "Location: http://169.254.169.254/\r\n")
            case "POST /large HTTP/1.1":
                let header = "X-Large: " + String(repeating: "x", count: 1_000) + "\r\n"
                try await line.respond(200, String(repeating: header, count: 64))
            default:
                let new = request.body.matches(of: /"id":"([^"]+)"/).map { String($0.output.1) }
                ids.withLock { $0.formUnion(new) }
                try await line.respond(200)
            }
        }
    }

    /// Of those that end each attempt at once.
    private static let hostile = """
        SELECT count(*) FROM carillon.webhook_status w WHERE w.last_error LIKE CASE w.name WHEN 'inward' THEN '%redirects%'
            WHEN 'large' THEN '%headers of its answer are larger%' WHEN 'stranger' THEN '%is for another name%' END
        """

    @Test(.scene)
    func `R16, W26: hostile receivers of webhooks delay no push, and after a kill the good one lacks no event`()
        async throws
    {
        let silent = try SilentPort(host: "127.0.0.1")
        let otherName = try FlawedServer.otherName.certificate()
        let ids = Guarded(Set<String>())
        try await RawGateway.with(certificate: otherName, alpn: ["http/1.1"]) { line in
            try await Self.serve(&line, ids)
        } test: { stranger, strangePort in
            try await RawGateway.with(alpn: ["http/1.1"]) { line in
                try await Self.serve(&line, ids)
            } test: { receiver, port in
                for name in ["endless", "inward", "large", "good"] { try await add(name, port, receiver.rootPEM) }
                try await add("stranger", strangePort, stranger.rootPEM)
                try await add("silent", silent.port, receiver.rootPEM)
                let stored = try await deliver()
                #expect(ids.withLock { $0.count } == stored && stored > 0)
                try await scene.finish(duplicates: Self.maxInFlight)
            }
        }
    }

    private func add(_ name: String, _ port: UInt16, _ root: String) async throws {
        try await scene.client.run(
            """
            SELECT carillon.add_webhook('\(name)', a.name, 'https://127.0.0.1:\(port)/\(name)', '{sent,failed,expired}',
                true, '\(root)') FROM carillon.apps a ORDER BY a.id LIMIT 1
            """
        )
    }

    /// Returns how many events were stored.
    private func deliver() async throws -> Int {
        let flags = ["--max-in-flight", "\(Self.maxInFlight)"]
        try await scene.fleet.started(2, flags)
        try await scene.enqueue(Board.sized(2000, full: 20_000))
        try await scene.goesOn(200)
        try #require(scene.fleet.running.first).kill()
        try await scene.fleet.started(flags)
        try await scene.drained()
        // What the dead worker was posting is posted again after a minute.
        try await scene.eventually("the good receiver has accepted all events") {
            try await scene.client.number("SELECT events FROM carillon.webhook_status WHERE name = 'good'") == 0
        }
        try await scene.eventually("the others were attempted") { try await scene.client.number(Self.hostile) == 3 }
        return try await scene.client.number(
            """
            SELECT coalesce(sum(coalesce(cardinality(e.sent), 0) + coalesce(cardinality(e.failed), 0)
                + coalesce(cardinality(e.expired), 0)), 0) FROM carillon.events e
            """
        )
    }
}
