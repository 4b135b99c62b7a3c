import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// What the log of a worker says of connections that it lost, and of other workers that are gone.
@Suite(.shop) struct ReconnectionTests {
    @Test func `a worker that lost only the connection of its heartbeats says when that is back`() async throws {
        try await shop.withLogin(password: "secret") { address, name in
            try await TestLoop.with { loop in
                let worker = try BackgroundProgram(
                    ["worker"],
                    environment: ["DATABASE_URL": "postgresql://\(name):secret@\(address)"],
                    in: shop.folder
                )
                _ = try await worker.line(containing: "has started", on: loop)
                try await shop.database.connection.script("ALTER ROLE \(name) NOLOGIN")
                try await loop.eventually("the connection of the heartbeats is cut") {
                    try await shop.database.number(
                        """
                        SELECT count(pg_terminate_backend(a.pid)) FROM pg_stat_activity a
                        WHERE a.usename = '\(name)' AND a.query LIKE '%beat%' AND a.query NOT LIKE '%inflight%'
                        """
                    ) == 1
                }
                _ = try await worker.line(containing: "cannot be reached; trying again.", on: loop)
                try await shop.database.connection.script("ALTER ROLE \(name) LOGIN")
                _ = try await worker.line(containing: "The database is back.", on: loop)
                #expect(!worker.said.contains("The connection to the database was lost"))
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `the death of a worker without claims is no warning`() async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker")
            _ = try await worker.line(containing: "has started", on: loop)
            try await shop.database.connection.script(
                """
                INSERT INTO carillon.workers (name, heartbeat_at, lease_until)
                VALUES ('gone', now() - interval '1 minute', now() - interval '58 seconds')
                """
            )
            let line = try await worker.line(containing: "died", on: loop)
            #expect(line.contains("\"level\":\"info\"") && line.contains("\"workers\":1"), "\(line)")
            #expect(line.contains("they had none"), "\(line)")
            _ = try await worker.end(by: SIGTERM, on: loop)
        }
    }
}
