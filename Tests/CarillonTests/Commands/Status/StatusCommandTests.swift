import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// `status`, as people and programs read it.
@Suite struct StatusCommandTests {
    @Test func `a worker with a long lease may be silent for long, and its lease stands beside that`()
        async throws
    {
        try await Shop.with { shop in
            try await shop.database.connection.script(
                """
                INSERT INTO carillon.workers (name, heartbeat_at, lease_until)
                VALUES ('patient', now() - interval '23 seconds', now() + interval '97 seconds')
                """
            )
            let text = try await shop.run("status").output
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("patient") })
            let words = line.split(separator: " ")
            #expect(text.contains("LAST SEEN  LEASE") && words.contains("ago") && words.contains("2m"), "\(text)")
            #expect(try await shop.run("status", "--json").output.contains("\"lease_seconds\":120"))
        }
    }

    @Test func `a worker stands there with the number that its log names, and since when it has run`() async throws {
        try await Shop.with { shop in
            try await TestLoop.with { loop in
                let worker = try shop.start("worker")
                let first = try await worker.line(containing: "has started", on: loop)
                let number = try #require(first.split(separator: "\"worker\":").last).prefix { $0.isNumber }
                let name = try await shop.database.connection.query(
                    Statement("name", "SELECT name FROM carillon.workers")
                ) {
                    try $0.string(0, 0)
                }
                let words = try await line(of: name, shop)
                #expect(words.prefix(3) == [name, String(number), Program.version], "\(words)")
                #expect(try await shop.run("status", "--json").output.contains("\"number\":\(number),"))
                let began = "SELECT (extract(epoch FROM min(started_at)) * 1000000)::int8 FROM carillon.workers"
                try await shop.database.connection.script("UPDATE carillon.workers SET started_at = now()")
                let before = try await shop.database.number(began)
                try await shop.database.connection.script("DELETE FROM carillon.workers")
                let second = try await worker.line(containing: "with another id", on: loop)
                #expect(second.contains("\"worker\":"))
                // It is the worker that knows how long it has run: the row of its first number is gone.
                #expect(try await shop.database.number(began) < before)
                _ = try await worker.end(by: SIGTERM, on: loop)
            }
        }
    }

    private func line(of worker: String, _ shop: Shop) async throws -> [String] {
        let text = try await shop.run("status").output
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(worker) }, "\(text)")
        return line.split(separator: " ").map(String.init)
    }
}
