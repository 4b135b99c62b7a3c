import Postgres
import TestSupport
import Testing

/// `status`, as people and programs read it.
@Suite struct StatusCommandTests {
    @Test func `a worker with a long lease may be silent for long, and its lease stands beside that`()
        async throws
    {
        try await Shop.with { shop in
            try await shop.connection.script(
                """
                INSERT INTO carillon.workers (name, heartbeat_at, lease_until)
                VALUES ('patient', now() - interval '23 seconds', now() + interval '97 seconds')
                """
            )
            let text = try await shop.run("status").output
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("patient") })
            let words = line.split(separator: " ")
            #expect(
                text.contains("LAST SEEN  LEASE") && words.contains("ago") && words.contains("2m"),
                "\(text)"
            )
            #expect(try await shop.run("status", "--json").output.contains("\"lease_seconds\":120"))
        }
    }
}
