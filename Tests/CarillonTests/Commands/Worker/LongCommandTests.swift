import CarillonIO
import CarillonPostgres
import CarillonWeb
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// Commands that go on for a while: what they say meanwhile, and how they end.
@Suite struct LongCommandTests {
    @Test(.shop, arguments: [SIGHUP, SIGQUIT, SIGTERM, SIGINT])
    func `each signal that asks to end drains a worker`(number: CInt) async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker")
            _ = try await worker.line(containing: "has started", on: loop)
            #expect(try await worker.end(by: number, on: loop) == .status(0))
            #expect(worker.said.contains("waiting for the answers"))
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.workers") == 0)
        }
    }

    @Test(.shop)
    func `a full disk under a worker's log stops no push, is counted, and ends with status 1`() async throws {
        try await TestLoop.with { loop in
            let port = ReservedPort.choose()
            var command = ChildProcess.Command(try ProgramRun.path, ["worker", "--http", "127.0.0.1:\(port)"])
            command.environment = ProgramRun.environment(["DATABASE_URL": TestLogin.worker.url(shop.database.url)])
            command.error = .file("/dev/full")
            let worker = try ChildProcess(command)
            defer { worker.signal(SIGKILL) }
            try await shop.enqueue(30)
            try await loop.eventually("all are sent") {
                try await shop.database.number("SELECT coalesce(sum(sent), 0)::int8 FROM carillon.results") == 30
            }
            let address = try #require(Address("127.0.0.1:\(port)"))
            let metrics = try await HealthProbe(address: address, timeout: .seconds(30)).ask("/metrics").body
            let lost = metrics.split(separator: "\n").first { $0.hasPrefix("carillon_log_lines_lost_total ") }
            #expect(try #require(lost?.split(separator: " ").last.flatMap { Double($0) }) > 0)
            worker.signal(SIGTERM)
            #expect(try await worker.wait(on: loop, until: .now + .seconds(180)) == .status(1))
        }
    }

    @Test(.shop) func `watching ends when its reader goes away`() async throws {
        try await TestLoop.with { loop in
            let (ours, theirs) = try SocketPair().release()
            var command = ChildProcess.Command(try ProgramRun.path, ["status", "--watch", "--interval", "100ms"])
            command.environment = ProgramRun.environment(["DATABASE_URL": shop.database.url])
            command.output = .descriptor(theirs)
            let watch = try ChildProcess(command)
            close(theirs)
            _ = try await loop.readiness(of: ours, for: .read, until: .now + .seconds(180), doing: "listening")
            close(ours)
            #expect(try await watch.wait(on: loop, until: .now + .seconds(180)) == .status(0))
        }
    }

    @Test func `sending says its id at once, and what it waits for`() async throws {
        try await Shop.with(answers: ["a0=503:ServiceUnavailable+3600"]) { shop in
            try await TestLoop.with { loop in
                let send = try shop.start("send", "--app", "shop", "--token", Shop.token("a0"), "--alert", "hi")
                let id = try await send.line(containing: "Enqueued as ", on: loop).filter(\.isNumber)
                _ = try await send.line(containing: "Waiting: ready; no worker is running.", on: loop)
                let worker = try shop.start("worker", "--http", "127.0.0.1:0")
                _ = try await send.line(containing: "after 503 ServiceUnavailable, next at 20", on: loop)
                _ = try await worker.line(containing: "Pushes will be retried.", on: loop)
                let show = try await shop.run("message", "show", id)
                #expect(show.status == 0 && show.output.contains("503 ServiceUnavailable"))
                #expect(show.output.contains("1 waiting; 1 attempt") && show.output.contains(Shop.token("a0")))
                let json = try await shop.run("message", "show", id, "--json").output
                #expect(json.contains("\"last_status\":503") && json.contains("\"state\":\"retrying\""))
                let cancelled = try await shop.run("message", "cancel", id)
                #expect(cancelled.status == 0 && cancelled.output == "Cancelled 1 job of message \(id).\n")
                #expect(try await send.end(on: loop) == .status(1))
                #expect(send.said.contains("Message \(id): 0 sent, 1 cancelled."))
                let again = try await shop.run("message", "cancel", id)
                #expect(again.status == 1 && again.errors.contains("cancelled"))
                _ = try await worker.end(by: SIGTERM, on: loop)
            }
        }
    }

    @Test(.shop) func `of two apps that use the same id, each command speaks of the one that is named`() async throws {
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.apps (name, topic) VALUES ('other', 'com.example.other');
            INSERT INTO carillon.results (message_id, app_id, sent, finished_at)
            SELECT 7, a.id, 1, now() FROM carillon.apps a WHERE a.name = 'other';
            INSERT INTO carillon.messages (id, app_id, tokens, payload)
            SELECT 7, a.id, ARRAY['\(Shop.token("aa"))'], '{"aps":{}}' FROM carillon.apps a WHERE a.name = 'shop'
            """
        )
        let both = try await shop.run("message", "show", "7")
        #expect(
            both.output.contains("Message 7 of other: sent.")
                && both.output.contains("Message 7 of shop: ready")
        )
        let one = try await shop.run("message", "show", "7", "--app", "shop", "--json")
        #expect(one.output.contains("\"app\":\"shop\"") && !one.output.contains("\"app\":\"other\""))
        let none = try await shop.run("message", "cancel", "7", "--app", "other")
        #expect(none.status == 1 && none.errors.contains("Message 7 has ended (sent): nothing was left to cancel."))
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 1)
        let cancelled = try await shop.run("message", "cancel", "7", "--app", "shop")
        #expect(cancelled.status == 0 && cancelled.output == "Cancelled 1 job of message 7.\n")
        let stranger = try await shop.run("message", "show", "7", "--app", "nobody")
        #expect(stranger.status == 1 && stranger.errors.contains("nobody"))
    }

    @Test(.shop) func `why an app cannot send is said of that app, and not of its neighbour with the same credential`()
        async throws
    {
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway, gateway_ca)
            SELECT 'lost', topic, certificate_id, 'localhost:1', gateway_ca FROM carillon.apps WHERE name = 'shop';
            SELECT carillon.enqueue('lost', ARRAY['\(Shop.token("aa"))'], 'hi'),
                carillon.enqueue('shop', ARRAY['\(Shop.token("aa"))'], 'hi')
            """
        )
        #expect(try await shop.run("worker", "--once").status == 69)
        let held = "SELECT count(*) FROM carillon.app_status WHERE hold_reason LIKE '%localhost:1%' AND app = "
        #expect(try await shop.database.number(held + "'lost'") == 1)
        #expect(try await shop.database.number(held + "'shop'") == 0)
        #expect(
            try await shop.database.number(
                "SELECT count(*) FROM carillon.certificates WHERE last_error IS NOT NULL"
            ) == 0
        )
        #expect(try await shop.run("status").output.contains("lost cannot send: "))
        let check = try await shop.run("check")
        #expect(check.output.contains("lost cannot send, and 1 job waits"))
        #expect(!check.output.contains("shop cannot send"))
        // Once it can be reached, nothing is left of it.
        try await shop.database.connection.script(
            "UPDATE carillon.apps SET gateway = (SELECT gateway FROM carillon.apps WHERE name = 'shop')"
        )
        #expect(try await shop.drain().status == 0)
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.results") == 2)
    }
}
