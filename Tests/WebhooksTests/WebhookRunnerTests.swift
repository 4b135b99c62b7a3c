import CarillonHTTPClient
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonWebhooks

/// A worker's part that posts webhooks, with a database, and receivers on this machine.
@Suite(.demo) struct WebhookRunnerTests {
    /// What receivers got and what was reported.
    final class Record: Sendable {
        private let lists = Guarded((requests: [WebhookRequest](), reports: [WebhookReport]()))
        private let refusals = Guarded(0)

        var requests: [WebhookRequest] { lists.withLock { $0.requests } }
        var reports: [String] { lists.withLock { $0.reports.map { "\($0)" } } }

        func add(_ request: WebhookRequest) -> Int {
            lists.withLock { lists in
                lists.requests.append(request)
                return lists.requests.count
            }
        }

        /// How many statements were refused that were no tries.
        var refused: Int { refusals.withLock { $0 } }

        func spend() { refusals.withLock { $0 += 1 } }

        func add(_ report: WebhookReport) { lists.withLock { $0.reports.append(report) } }
    }

    static func note(_ tokens: String...) -> String {
        let times = tokens.map { _ in "now()" }.joined(separator: ", ")
        return "SELECT carillon.note_dead(1, '{\(tokens.joined(separator: ","))}', ARRAY[\(times)])"
    }

    /// Adds a webhook whose receiver answers each request with a status, and returns its secret.
    private func add(_ name: String, _ port: UInt16, root: String) async throws -> WebhookSecret {
        let call = "carillon.add_webhook('\(name)', 'demo', 'https://127.0.0.1:\(port)/', NULL, true, '\(root)')"
        let secret = try #require(try await database.value(call))
        return try #require(WebhookSecret(secret))
    }

    /// Runs the body with a receiver, whose status depends on the number of the request, and a runner.
    func with(
        status: @escaping @Sendable (Int) -> Int = { _ in 200 },
        _ body: (WebhookRunner, WebhookSecret, Record, EventLoop) async throws -> Void
    ) async throws {
        let record = Record()
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                try await line.respond(status(record.add(request)))
            }
        } test: { gateway, port in
            let secret = try await add("crm", port, root: gateway.rootPEM)
            try await withRunner(record) { runner, loop in try await body(runner, secret, record, loop) }
        }
    }

    private func withRunner(
        _ record: Record,
        _ body: (WebhookRunner, EventLoop) async throws -> Void
    ) async throws {
        let client = HTTPClient()
        defer { client.stop() }
        try await TestLoop.with { loop in
            let source = DatabaseSource(database.url)
            let runner = WebhookRunner(
                source,
                tries: WebhookTries(take: { nil }, spend: { record.spend() }),
                client: client,
                version: "7",
                on: loop
            ) { record.add($0) }
            try await body(runner, loop)
        }
    }

    @Test func `a batch arrives signed, and is not posted again once it is accepted`() async throws {
        try await with { runner, secret, record, _ in
            try await database.run("\(Self.note("a1", "a2")); \(Self.note("a3"))")
            try await runner.runOnce()
            try await runner.runOnce()
            let request = try #require(record.requests.first)
            #expect(record.requests.count == 1 && request.headers.first == "POST / HTTP/1.1")
            #expect(request.header("user-agent") == "Carillon/7")
            for token in ["a1", "a2", "a3"] { #expect(request.body.contains("\"token\":\"\(token)\"")) }
            let id = try #require(request.header("webhook-id"))
            let timestamp = try #require(request.header("webhook-timestamp").flatMap { Int64($0) })
            #expect(abs(timestamp - WallClock.seconds) < 300)
            let signature = secret.signature(of: Array(request.body.utf8), id: id, timestamp: timestamp)
            #expect(request.header("webhook-signature") == signature)
            #expect(runner.counts.byName["crm"]?.events == 3 && record.reports.isEmpty)
            #expect(try await database.number("SELECT events FROM carillon.webhook_status") == 0)
        }
    }

    @Test func `a batch that is not accepted comes again whole, with the same id, before any other`() async throws {
        try await with(status: { $0 == 1 ? 500 : 200 }) { runner, _, record, _ in
            try await database.run(Self.note("a1"))
            try await runner.runOnce()
            #expect(
                try await database.rows("SELECT state, last_error FROM carillon.webhook_status")
                    == [#"(failing,"the receiver answered 500")"#]
            )
            try await database.run("\(Self.note("a2")); UPDATE carillon.webhooks SET next_attempt_at = now()")
            try await runner.runOnce()
            let requests = record.requests
            #expect(requests.count == 3 && requests[0].body == requests[1].body)
            #expect(requests[0].header("webhook-id") == requests[1].header("webhook-id"))
            #expect(
                requests[2].body.contains("a2") && requests[2].header("webhook-id") != requests[0].header("webhook-id")
            )
            #expect(record.reports.count == 2 && record.reports.last?.contains("recovered") == true)
        }
    }

    @Test func `a batch that is not accepted comes again within seconds, without another event`() async throws {
        try await with(status: { $0 == 1 ? 500 : 200 }) { runner, _, record, loop in
            try await database.run(Self.note("a1"))
            async let running: Void = runner.run()
            try await loop.eventually("the first attempt has failed") { runner.counts.byName["crm"]?.failed == 1 }
            let failed = MonotonicInstant.now
            try await loop.eventually("the batch comes again") { record.requests.count == 2 }
            #expect(MonotonicInstant.now - failed < .seconds(30))
            await runner.stop(within: .seconds(60))
            await running
            #expect(record.requests[0].header("webhook-id") == record.requests[1].header("webhook-id"))
        }
    }

    @Test func `a receiver that is gone pauses the webhook, and it is said`() async throws {
        try await with(status: { _ in 410 }) { runner, _, record, _ in
            try await database.run(Self.note("a1"))
            try await runner.runOnce()
            #expect(try await database.rows("SELECT state, events FROM carillon.webhook_status") == ["(paused,1)"])
            #expect(record.reports.count == 1 && record.reports.first?.contains("paused") == true)
        }
    }

    @Test func `a notification has events posted at once, and two workers post each batch once`() async throws {
        try await with { runner, _, record, loop in
            try await withRunner(record) { second, _ in
                async let first: Void = runner.run()
                async let other: Void = second.run()
                for number in 1...3 {
                    try await database.run(Self.note("a\(number)"))
                    try await loop.eventually("the event is accepted") {
                        try await database.number("SELECT events FROM carillon.webhook_status") == 0
                    }
                }
                await runner.stop(within: .seconds(60))
                await second.stop(within: .seconds(60))
                _ = await (first, other)
            }
            let bodies = record.requests.map(\.body)
            for number in 1...3 { #expect(bodies.count { $0.contains("\"token\":\"a\(number)\"") } == 1) }
        }
    }

    @Test
    func `a receiver that never answers delays no other, and its batch is kept when the worker ends`() async throws {
        let silent = try SilentPort(host: "127.0.0.1")
        try await with { runner, _, record, loop in
            try await database.run(
                "SELECT carillon.add_webhook('slow', 'demo', 'https://127.0.0.1:\(silent.port)/', NULL, true)"
            )
            try await database.run(Self.note("a1"))
            async let running: Void = runner.run()
            try await loop.eventually("the other receiver has its event") { !record.requests.isEmpty }
            await runner.stop(within: .seconds(60))
            await running
            #expect(
                try await database.number("SELECT events FROM carillon.webhook_status WHERE name = 'slow'") == 1
            )
        }
    }

    @Test(arguments: ["failing_since = now()", "is_slow = true"])
    func `receivers that fail or are slow leave places for the others, however many they are`(
        state: String
    ) async throws {
        let silent = try SilentPort(host: "127.0.0.1")
        try await with { runner, _, record, loop in
            let add = "carillon.add_webhook('slow' || i, 'demo', 'https://127.0.0.1:\(silent.port)/', NULL, true)"
            try await database.run("SELECT \(add) FROM generate_series(1, 80) AS i")
            try await database.run("UPDATE carillon.webhooks SET \(state) WHERE name <> 'crm'")
            try await database.run(Self.note("a1"))
            async let running: Void = runner.run()
            let attempted = "SELECT count(*) FROM carillon.webhooks WHERE attempts = 1 AND name <> 'crm'"
            try await loop.eventually("some are attempted") { try await database.number(attempted) == 25 }
            try await database.run(Self.note("a2"))
            try await loop.eventually("the other receiver has both events") { record.requests.count == 2 }
            await runner.stop(within: .seconds(60))
            await running
        }
    }

    @Test func `a receiver is slow after a late answer, until it answers soon again`() async throws {
        let record = Record()
        let mayAnswer = Gate()
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                _ = record.add(request)
                await mayAnswer.pass()
                try await line.respond(200)
            }
        } test: { gateway, port in
            _ = try await add("crm", port, root: gateway.rootPEM)
            try await withRunner(record) { runner, loop in
                let slow = "SELECT count(*) FROM carillon.webhooks WHERE is_slow"
                try await database.run(Self.note("a1"))
                async let first: Void = runner.runOnce()
                try await loop.eventually("the receiver has the batch") { !record.requests.isEmpty }
                let late = MonotonicInstant.now + WebhookPolicy.maxPrompt
                try await loop.eventually("it has taken long") { .now > late }
                mayAnswer.open()
                try await first
                #expect(try await database.number(slow) == 1)
                try await loop.eventually("it answers soon") {
                    try await database.run(Self.note("a2"))
                    try await runner.runOnce()
                    return try await database.number(slow) == 0
                }
                #expect(record.reports.isEmpty)
            }
        }
    }

    /// Behind a pooler, the server can be another one although no connection of the worker was lost.
    @Test func `a worker whose database has become a copy posts nothing until that is adopted`() async throws {
        try await with { runner, _, record, loop in
            async let running: Void = runner.run()
            try await database.run(Self.note("a1"))
            try await loop.eventually("the first event is posted") { record.requests.count == 1 }
            try await database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
            try await database.run(Self.note("a2"))
            try await loop.eventually("it says why it posts no more") {
                record.reports.contains { $0.contains("this database is a copy") }
            }
            #expect(record.requests.count == 1)
            try await database.run("SELECT carillon.adopt()")
            try await loop.eventually("the second event is posted") { record.requests.count == 2 }
            await runner.stop(within: .seconds(60))
            await running
        }
    }

    @Test func `a worker that loses its connection opens another`() async throws {
        try await with { runner, _, record, loop in
            async let running: Void = runner.run()
            let sessions =
                "FROM pg_stat_activity WHERE application_name = 'carillon webhooks' AND datname = current_database()"
            try await loop.eventually("it listens") {
                try await database.number("SELECT count(*) \(sessions) AND query LIKE '%seconds_to_webhook%'") == 1
            }
            try await database.run("SELECT pg_terminate_backend(pid, 60000) \(sessions)")
            try await database.run(Self.note("a1"))
            try await loop.eventually("the event is accepted") { !record.requests.isEmpty }
            await runner.stop(within: .seconds(60))
            await running
            #expect(record.reports.contains { $0.contains("databaseLost") })
        }
    }
}
