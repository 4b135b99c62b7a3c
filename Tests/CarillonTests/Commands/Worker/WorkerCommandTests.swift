import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonWeb
import Glibc
import TestSupport
import Testing

@testable import Carillon

@Suite struct WorkerCommandTests {
    @Test func `without the schema it does not start, and says how to make it`() async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            let run = try await ProgramRun.run(["worker"], environment: ["DATABASE_URL": TestLogin.worker.url(url)])
            #expect(run.status == 78)
            #expect(run.errors.contains("migrate up"))
        }
    }

    @Test(.shop) func `with a schema from a newer program it does not start`() async throws {
        try await shop.database.connection.script(
            "INSERT INTO carillon.schema_migrations (version, name) VALUES (999, 'future')"
        )
        let run = try await shop.run("worker")
        #expect(run.status == 78)
        #expect(run.errors.contains("999"))
    }

    @Test func `without a database it does not start`() async throws {
        let run = try await ProgramRun.run(["worker", "--database", "postgresql://u:canary-word@127.0.0.1:1/db"])
        #expect(run.status == 69)
        #expect(run.errors.contains("\"level\":\"error\"") && !run.errors.contains("canary"))
    }

    @Test(.shop) func `once sends what is due, and ends with 0`() async throws {
        try await shop.enqueue(300)
        let run = try await shop.drain()
        #expect(run.status == 0 && run.output == "")
        #expect(try await shop.database.number("SELECT sum(sent)::int8 FROM carillon.results") == 300)
        let tokens = await shop.gateway.receivedRequests().map(\.token)
        #expect(tokens.count == 300 && Set(tokens).count == 300)
        for line in run.errors.split(separator: "\n") { #expect(line.hasPrefix("{\"time\":")) }
    }

    @Test func `send waits for the outcome that a worker brings`() async throws {
        try await Shop.with(answers: ["dead=410:Unregistered"]) { shop in
            try await TestLoop.with { loop in
                let worker = try shop.start("worker")
                _ = try await worker.line(containing: "has started", on: loop)
                let good = try await shop.run("send", "--app", "shop", "--token", Shop.token("a0"), "--alert", "hi")
                #expect(good.status == 0 && good.output.contains("1 sent"))
                let mixed = try await shop.run([
                    "send", "--app", "shop", "--token", Shop.token("a0"), "--token", Shop.token("dead"), "--alert",
                    "hi", "--json",
                ])
                #expect(mixed.status == 1)
                #expect(mixed.output.contains("\"sent\":1,\"failed\":1"))
                #expect(mixed.output.contains("\"status\":410,\"reason\":\"Unregistered\""))
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.workers") == 0)
        }
    }

    @Test(.shop)
    func `pushes are counted soon after they are sent, however long the lease of their worker is`() async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--lease", "10m")
            _ = try await worker.line(containing: "has started", on: loop)
            try await shop.enqueue(30)
            try await loop.eventually("the pushes are counted") {
                try await shop.database.number("SELECT sent_last_hour::int8 FROM carillon.app_status") == 30
            }
            #expect(try await worker.end(by: SIGKILL, on: loop) == .signal(SIGKILL))
            #expect(try await shop.database.number("SELECT sent_last_hour::int8 FROM carillon.app_status") == 30)
        }
    }

    @Test(.shop) func `the worker serves liveness, readiness and metrics over HTTP`() async throws {
        try await shop.enqueue(30)
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--http", "127.0.0.1:0")
            let line = try await worker.line(containing: "metrics are served", on: loop)
            let digits = line.split(separator: "\"port\":")[1].prefix { $0.isNumber }
            _ = try await worker.line(containing: "has started", on: loop)
            // On a busy machine it may be a while until the database has answered within the last seconds.
            try await loop.eventually("it is ready") {
                let health = try await shop.run("healthcheck", "--http", "127.0.0.1:\(digits)")
                return health.status == 0 && health.output == "ready\n"
            }
            let address = try #require(Address("127.0.0.1:\(digits)"))
            let probe = HealthProbe(address: address, timeout: .seconds(30))
            #expect(try await probe.ask("/livez").body == "alive")
            let metrics = try await probe.ask("/metrics").body
            #expect(metrics.contains("carillon_database_up 1\n"))
            #expect(metrics.contains("carillon_ready_jobs{app=\"shop\"} "))
            #expect(metrics.contains("carillon_enqueue_to_claim_seconds_bucket{le=\"+Inf\"} "))
            #expect(metrics.contains("carillon_send_to_answer_seconds_sum "))
            #expect(metrics.contains("carillon_credential_expiry_seconds{app=\"shop\"} "))
            for path in ["/metrics", "/readyz", "/livez"] {
                let foreign = "GET \(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
                let answer = await RawHTTP.exchange(address.port, foreign)
                #expect(answer.hasPrefix("HTTP/1.1 403") && !answer.contains("shop"), "\(answer)")
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
    }

    @Test(.shop) func `liveness is answered while slow clients keep connections open`() async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker", "--http", "127.0.0.1:0")
            let line = try await worker.line(containing: "metrics are served", on: loop)
            let port = try #require(UInt16(line.split(separator: "\"port\":")[1].prefix { $0.isNumber }))
            let slow = (0..<70).map { _ in RawHTTP.connected(port) }
            defer { for descriptor in slow { close(descriptor) } }
            let half = Array("GET /livez HTTP/1.1\r\nHo".utf8)
            for descriptor in slow { #expect(send(descriptor, half, half.count, CInt(MSG_NOSIGNAL)) == half.count) }
            for _ in 0..<10 {
                let answer = await RawHTTP.ask(port, "GET /livez")
                #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\nalive\n"), "\(answer)")
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
    }

    @Test(.shop) func `a port in use is unavailable, and named`() async throws {
        let run = try await shop.run("worker", "--http", "127.0.0.1:\(shop.gateway.port)")
        #expect(run.status == 69)
        #expect(run.errors.contains("\(shop.gateway.port)"))
    }

    @Test func `a gateway that is not there is named, and nothing is lost`() async throws {
        try await Shop.with(address: "localhost:1") { shop in
            try await shop.enqueue(5)
            let run = try await shop.run("worker", "--once")
            #expect(run.status == 69)
            #expect(run.errors.contains("localhost:1"))
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 5)
        }
    }

    @Test func `an embedded database keeps what it has`() async throws {
        try await TemporaryFolder.with { folder in
            let words = ["worker", "--once", "--embedded", "--data", folder.file("data")]
            let first = try await ProgramRun.run(words)
            #expect(first.status == 0 && first.errors.contains("embedded PostgreSQL is running"))
            let second = try await ProgramRun.run(words)
            #expect(second.status == 0)
            // The second worker of this database.
            #expect(second.errors.contains("\"worker\":2"))
        }
    }

    @Test(arguments: [
        ["--embedded"], ["--data", "/tmp/none"], ["--embedded", "--data", "/tmp/none", "--database", "x=y"],
    ])
    func `an embedded database needs its folder, and no other database`(words: [String]) async throws {
        let run = try await ProgramRun.run(["worker"] + words)
        #expect(run.status == 2)
        #expect(run.errors.contains("--embedded") && run.errors.contains("--data"))
    }
}
