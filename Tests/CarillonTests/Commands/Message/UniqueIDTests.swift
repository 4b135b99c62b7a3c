import ApplePush
import ApplePushSimulator
import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// The `apns-unique-id` that the sandbox sends with each answer.
@Suite struct UniqueIDTests {
    private static let kept = """
        SELECT (SELECT count(*) FROM carillon.results r WHERE r.apns_unique_ids IS NOT NULL)
            + (SELECT count(*) FROM carillon.failures f WHERE f.apns_unique_id IS NOT NULL)
        """

    private static func withSandbox(_ body: (Shop) async throws -> Void) async throws {
        try await Shop.with({ configuration in
            configuration.environment = .sandbox
            configuration.answers = try ["dead=410:Unregistered", "bb=503*1"].map { try AnswerRule(parsing: $0) }
        }) { shop in try await body(shop) }
    }

    @Test func `an app that wants it keeps the unique id of each push, sent or failed, over retries`() async throws {
        try await Self.withSandbox { shop in
            let set = try await shop.run("app", "set", "shop", "--keep-unique-ids")
            #expect(set.status == 0, "\(set.errors)")
            let (good, late, dead) = (Shop.token("a0"), Shop.token("bb"), Shop.token("dead"))
            let id = try await shop.database.number(
                "SELECT carillon.enqueue('shop', '{\(good),\(late),\(dead)}', 'hi')"
            )
            // Full jitter may mean at once, which an hour makes too unlikely to be seen.
            #expect(try await shop.drain("--retry-base", "1h", "--retry-cap", "1h").status == 0)
            let first = try await shop.run("message", "show", "\(id)").output
            #expect(first.contains("\(good): sent, apns-unique-id "), "\(first)")
            #expect(first.contains("\(late): retrying, 503 ServiceUnavailable\n"), "\(first)")
            try await shop.database.run("UPDATE carillon.scheduled SET run_at = now()")
            #expect(try await shop.drain().status == 0)
            let ids = try await shop.database.rows(
                "SELECT s.key, s.value FROM carillon.results r, jsonb_each_text(r.apns_unique_ids) AS s"
            )
            #expect(ids.count == 2 && Set(ids).count == 2)
            let failed = try await shop.database.value(
                "(SELECT f.apns_unique_id::text FROM carillon.failures f WHERE f.token = '\(dead)')"
            )
            let unique = try #require(failed)
            #expect(PushID(unique) != nil)
            let show = try await shop.run("message", "show", "\(id)").output
            #expect(show.contains("\(dead): failed, 410 Unregistered, apns-unique-id \(unique)\n"), "\(show)")
            #expect(show.contains("\(late): sent, apns-unique-id ") && !show.contains("more"), "\(show)")
            let list = try await shop.run("failures", "list", "--json").output
            #expect(list.contains("\"apns_unique_id\":\"\(unique)\""), "\(list)")
        }
    }

    @Test func `send tells the unique ids`() async throws {
        try await Self.withSandbox { shop in
            _ = try await shop.run("app", "set", "shop", "--keep-unique-ids")
            try await TestLoop.with { loop in
                let worker = try shop.start("worker")
                _ = try await worker.line(containing: "has started", on: loop)
                let (good, dead) = (Shop.token("a0"), Shop.token("dead"))
                let send = ["send", "--app", "shop", "--token", good, "--token", dead, "--alert", "hi"]
                let text = try await shop.run(send)
                #expect(text.output.contains("  \(good): sent, apns-unique-id "), "\(text)")
                #expect(text.output.contains("  \(dead): 410 Unregistered, apns-unique-id "), "\(text)")
                let json = try await shop.run(send + ["--json"]).output
                #expect(
                    json.contains("\"reason\":\"Unregistered\"") && json.contains("\"apns_unique_id\":\""),
                    "\(json)"
                )
                #expect(json.contains("\"apns_unique_ids\":{\"\(good)\":\""), "\(json)")
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `an app that does not ask for them keeps no unique ids`() async throws {
        try await Self.withSandbox { shop in
            try await shop.database.run(
                "SELECT carillon.enqueue('shop', '{\(Shop.token("a0")),\(Shop.token("dead"))}', 'hi', reference => 'r')"
            )
            #expect(try await shop.drain().status == 0)
            #expect(try await shop.database.number("SELECT sum(sent + failed)::int8 FROM carillon.results") == 2)
            #expect(try await shop.database.number(Self.kept) == 0)
            let show = try await shop.run("message", "show", "--reference", "r", "--json").output
            #expect(!show.contains("unique") && !show.contains(Shop.token("a0")), "\(show)")
        }
    }
}
