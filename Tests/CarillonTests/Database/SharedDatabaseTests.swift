import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon
@testable import CarillonPushQueue

/// Commands among other people's objects and settings.
@Suite struct SharedDatabaseTests {
    @Test(.shop) func `time limits of a role end no command`() async throws {
        let role = "hasty_\(shop.database.connection.backendProcessID)"
        try await shop.database.connection.script(
            """
            CREATE ROLE \(role) SUPERUSER LOGIN;
            ALTER ROLE \(role) SET statement_timeout = '100ms';
            ALTER ROLE \(role) SET lock_timeout = '100ms';
            ALTER ROLE \(role) SET idle_in_transaction_session_timeout = '1ms'
            """
        )
        try await attempt {
            let other = try await PostgresConnection.connect(shop.database.url)
            try await other.script("BEGIN; UPDATE carillon.apps SET max_rate = 7")
            async let paused = ProgramRun.run(
                ["app", "pause", "shop"],
                environment: ["DATABASE_URL": shop.database.url + "&user=\(role)"]
            )
            try await TestLoop.with { loop in
                try await loop.eventually("the command has waited for longer than that") {
                    try await shop.database.number(
                        """
                        SELECT count(*) FROM pg_stat_activity a WHERE a.usename = '\(role)'
                            AND a.wait_event_type = 'Lock' AND clock_timestamp() - a.query_start > interval '300 ms'
                        """
                    ) == 1
                }
            }
            try await other.script("COMMIT")
            await other.close()
            let run = try await paused
            #expect(run.status == 0, "\(run.errors)")
            let session = try await PostgresConnection.connect(
                shop.database.url + "&user=\(role)",
                settings: SessionSettings.unhurried
            )
            let limits = Statement(
                "limits",
                """
                SELECT s.name FROM pg_settings s WHERE s.setting <> '0'
                    AND s.name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')
                """
            )
            let left: [String] = try await session.values(of: limits)
            #expect(left == [])
            await session.close()
        } finally: {
            try await shop.database.connection.script("DROP ROLE \(role)")
        }
    }

    @Test func `the limits of a role that older servers do not have are lifted too`() {
        let limits: Set = ["statement_timeout", "lock_timeout", "transaction_timeout", "idle_session_timeout"]
        let lifted = SessionSettings.unhurried.known(to: 170_000).pairs.filter { $0.value == "0" }.map(\.name)
        #expect(limits.isSubset(of: lifted))
        for settings in [WorkerSessions.shared, WorkerSessions.lifeline, WorkerSessions.detour, WorkerSessions.own] {
            let set = settings.known(to: 170_000).pairs
            #expect(limits.isSubset(of: set.map(\.name)))
            #expect(set.contains { $0.name == "transaction_timeout" && $0.value == "0" })
        }
    }

    /// A standby refuses even a query that reads nothing, if its transaction is serializable.
    @Test func `a standby is read whatever isolation its database sets`() async throws {
        try await TestDatabase.withOwnCluster { database, cluster in
            try await database.run("ALTER DATABASE postgres SET default_transaction_isolation = serializable")
            try Data().write(to: URL(filePath: cluster.folder + "/data/standby.signal"))
            try await cluster.restart()
            let run = try await ProgramRun.run(["status"], environment: ["DATABASE_URL": cluster.url()])
            #expect(run.status == 0, "\(run.errors)")
        }
    }

    @Test(.shop) func `objects that depend on the schema are named when it cannot be dropped`() async throws {
        try await shop.database.connection.script("CREATE VIEW public.mine AS SELECT sent FROM carillon.results")
        let down = try await shop.run("migrate", "down", "--to-version", "0", "--yes")
        #expect(down.status == 1)
        #expect(down.errors.contains("view public.mine depends on table results"), "\(down.errors)")
    }

    @Test func `a password that is missing, and a database that nobody named, are said to be so`() async throws {
        try await Shop.with { shop in
            let role = "locked_\(shop.database.connection.backendProcessID)"
            try await shop.database.connection.script("CREATE ROLE \(role) LOGIN PASSWORD 'x'")
            try await attempt {
                let address = try #require(try await TestCluster.shared.loopbackURL().split(separator: "@").last)
                let missing = try await ProgramRun.run(
                    ["check"],
                    environment: ["DATABASE_URL": "postgresql://\(role)@\(address)", "HOME": shop.folder.path]
                )
                #expect(missing.status == 78, "\(missing.output)")
                #expect(missing.output.contains("PGPASSWORD"), "\(missing.output)")
                let raw = try await ProgramRun.run(
                    ["status"],
                    environment: ["DATABASE_URL": "postgresql://\(role):p@ss@\(address)"]
                )
                #expect(raw.status == 78 && raw.errors.contains("%40"), "\(raw.errors)")
            } finally: {
                try await shop.database.connection.script("DROP ROLE \(role)")
            }
        }
        let none = try await ProgramRun.run(["status"], environment: ["PGPORT": "1"])
        #expect(none.status == 69 && none.errors.contains("DATABASE_URL"), "\(none.errors)")
    }
}
