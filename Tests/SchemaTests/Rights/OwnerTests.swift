import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import TestSupport
import Testing

/// A schema whose owner is not a superuser, as in most hosted databases.
@Suite struct OwnerTests {
    /// A superuser's session, the owner's, and roles to isolate.
    private static func owned(
        granting grants: (_ owner: String) -> String,
        _ body: (_ above: TestDatabase, _ owner: TestDatabase, _ web: String) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.nothing) { above in
            let owner = "owner_\(above.connection.backendProcessID)"
            let web = "web_\(above.connection.backendProcessID)"
            try await above.run(
                """
                CREATE ROLE \(owner) LOGIN; CREATE ROLE \(web) LOGIN;
                DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO \(owner)', current_database()); END $$;
                \(grants(owner))
                """
            )
            try await attempt {
                try await above.session(as: owner) { database in
                    _ = try await Migrator(database.connection).up()
                    try await database.run(
                        "INSERT INTO carillon.apps (name, topic) VALUES ('alpha', 'com.example.alpha'), ('beta', 'b')"
                    )
                    try await body(above, database, web)
                }
            } finally: {
                try await above.run(
                    """
                    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database()); END $$;
                    DROP OWNED BY \(owner), \(web) CASCADE; DROP ROLE \(web); DROP ROLE \(owner)
                    """
                )
            }
        }
    }

    private static func needed(_ owner: String) -> String {
        "GRANT carillon_reaper TO \(owner); GRANT carillon_tenant TO \(owner) WITH ADMIN OPTION"
    }

    @Test func `the owner that isolates an app still sees all apps`() async throws {
        try await Self.owned(granting: Self.needed) { _, owner, web async throws in
            let id = try await owner.value("carillon.enqueue('alpha', '{aa}', 'x')")
            try await owner.run("SELECT carillon.isolate_app('beta', '\(web)')")
            #expect(try await owner.value("SELECT count(*) FROM carillon.message_status(\(id ?? ""))") == "1")
            #expect(try await owner.value("carillon.enqueue('alpha', '{aa}', 'x') IS NOT NULL") == "true")
            #expect(try await owner.value("carillon.cancel(\(id ?? ""))") == "1")
            #expect(try await owner.value("SELECT count(*) FROM carillon.apps") == "2")
            try await owner.run("SELECT carillon.unisolate_app('beta', '\(web)')")
        }
    }

    @Test func `the error for a missing right to isolate has the command that grants it`() async throws {
        try await Self.owned(granting: { "GRANT carillon_reaper TO \($0)" }) { above, owner, web async throws in
            let refused = await #expect(throws: PostgresError.self) {
                try await owner.run("SELECT carillon.isolate_app('beta', '\(web)')")
            }
            let hint = try #require(refused?.hint)
            let command = try #require(
                hint.firstMatch(of: /^Have a superuser, or .*, run: (GRANT carillon_tenant TO owner_.*)/)
            )
            try await above.run(String(command.output.1))
            try await owner.run("SELECT carillon.isolate_app('beta', '\(web)')")
            try await owner.run("SELECT carillon.unisolate_app('beta', '\(web)')")
        }
    }

    @Test func `a role with the owner's rights cannot be isolated`() async throws {
        try await Self.owned(granting: Self.needed) { above, owner, web async throws in
            try await above.run(
                """
                DO $$ BEGIN EXECUTE (SELECT format('GRANT %I TO \(web)', pg_get_userbyid(d.datdba)) FROM pg_database d
                    WHERE d.datname = current_database()); END $$
                """
            )
            let refused = await #expect(throws: PostgresError.self) {
                try await owner.run("SELECT carillon.isolate_app('beta', '\(web)')")
            }
            #expect(refused?.message.contains("sees all apps") == true)
        }
    }
}
