import CarillonPostgres
import TestSupport
import Testing

/// The SQL of what Apple has counted, and of the tokens with which programs ask for it.
@Suite(.demo) struct MetricsTests {
    private static let shown =
        "SELECT app, day, push_type, status, count, is_delivery FROM carillon.delivery_metrics ORDER BY 2, 4"

    private static func store(_ counts: String, _ statuses: String = "{Delivered to Device,Stored}") -> String {
        """
        SELECT s.added, s.changed FROM carillon.store_metrics('demo', '{2026-11-28,2026-11-28}', '{alert,alert}', '\(statuses)',
            '\(counts)') AS s
        """
    }

    @Test func `counts are stored once, and a later report replaces them`() async throws {
        #expect(try await database.rows(Self.store("{5,NULL}")) == ["(2,0)"])
        #expect(try await database.rows(Self.store("{5,NULL}")) == ["(0,0)"])
        #expect(
            try await database.rows(Self.shown) == [
                "(demo,2026-11-28,alert,\"Delivered to Device\",5,t)", "(demo,2026-11-28,alert,Stored,,f)",
            ]
        )
        #expect(try await database.rows(Self.store("{6,7}")) == ["(0,2)"])
        // Of two counts of the same, the last one.
        #expect(try await database.rows(Self.store("{8,9}", "{Stored,Stored}")) == ["(0,1)"])
        let counts = "SELECT count, count_precision FROM carillon.delivery_metrics ORDER BY 1"
        #expect(try await database.rows(counts) == ["(6,about)", "(9,about)"])
    }

    @Test(arguments: ["{-1,1}", "{1000000000000001,1}"])
    func `a count that cannot be one is refused, and nothing is stored`(counts: String) async throws {
        let error = await database.refusal(of: Self.store(counts))
        #expect(error?.constraint == "exported_metrics_count_is_possible")
        #expect(try await database.rows(Self.shown) == [])
    }

    @Test func `metrics go after a year, and with their app`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.exported_metrics (app_id, day, push_type, status, count)
            VALUES (1, now() - interval '13 months', 'alert', 'old', 1), (1, now() - interval '11 months', 'alert', 'new', 1)
            """
        )
        try await database.run("CALL carillon.maintain()")
        #expect(try await database.rows("SELECT status FROM carillon.delivery_metrics") == ["(new)"])
        try await database.run("DELETE FROM carillon.apps")
        #expect(try await database.rows("SELECT status FROM carillon.exported_metrics") == [])
    }

    @Test func `an app sees the metrics of all apps, and an isolated role those of its own`() async throws {
        try await database.run(Self.store("{5,6}"))
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('other'); SET ROLE carillon_app")
        #expect(try await database.rows(Self.shown).count == 2)
        try await database.run("RESET ROLE")
        let role = "metrics_\(database.connection.backendProcessID)"
        for (app, count) in [("other", 0), ("demo", 2)] {
            try await database.run(
                "CREATE ROLE \(role); SELECT carillon.isolate_app('\(app)', '\(role)'); SET ROLE \(role)"
            )
            #expect(try await database.rows(Self.shown).count == count)
            let error = await database.refusal(of: Self.store("{5,6}"))
            #expect(error?.sqlState == SQLState.insufficientPrivilege)
            try await database.run("RESET ROLE; SELECT carillon.unisolate_app('\(app)', '\(role)'); DROP ROLE \(role)")
        }
    }

    @Test
    func `the team of an export token is that of the app's signing key, and no error shows a token`() async throws {
        func insert(_ token: String, team: String = "NULL") -> String {
            "INSERT INTO carillon.export_token_input VALUES ('demo', '\(token)', \(team), now() + interval '1 day')"
        }
        try await database.run(
            """
            UPDATE carillon.certificates SET certificate = NULL, private_key = 'x', key_id = 'ABC123DEFG', team_id = 'DEF123GHIJ';
            \(insert("one")); \(insert("two"))
            """
        )
        #expect(try await database.rows("SELECT token, team_id FROM carillon.export_tokens") == ["(two,DEF123GHIJ)"])
        #expect(try await database.rows("TABLE carillon.export_token_input") == [])
        for statement in [insert("canary token"), insert("canary", team: "'x'")] {
            let error = await database.refusal(of: statement)
            #expect(
                error?.sqlState == "23514" && error.map { "\($0)".contains("canary") } == false,
                "\(String(describing: error))"
            )
        }
        let changes =
            "SELECT action FROM carillon.audit WHERE details::text NOT LIKE '%two%' AND action LIKE '%export token'"
        #expect(try await database.value("carillon.remove_export_token('demo')") == "true")
        #expect(try await database.value("carillon.remove_export_token('demo')") == "false")
        #expect(
            try await database.rows(changes) == [
                "(\"set export token\")", "(\"set export token\")", "(\"remove export token\")",
            ]
        )
    }
}
