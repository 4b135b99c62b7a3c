import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

@Suite(.demo) struct AppStoreTests {
    @Test func `an app is added with its settings, and listed`() async throws {
        let store = AppStore(database.connection)
        let added = try await store.add("plain") { app in
            app.topic = "a.b"
            app.credential = "main"
        }
        let plain = added.settings
        #expect(plain.environment == .production && plain.protocol == .http2 && plain.maxAttempts == 10)
        #expect(!added.isPaused && plain.gateway == nil && plain.gatewayCA == nil && plain.maxRate == nil)
        let own = try await store.add("own") { app in
            app.topic = "c.d"
            app.credential = "main"
            app.environment = .sandbox
            app.protocol = .binary
            app.gateway = "[::1]:2195"
            app.gatewayCA = "PEM"
            app.feedbackGateway = "localhost:2196"
            app.maxRate = 100
            app.maxAttempts = 3
        }.settings
        #expect(own.environment == .sandbox && own.protocol == .binary && own.gateway == "[::1]:2195")
        #expect(own.gatewayCA != nil && own.feedbackGateway == "localhost:2196" && own.maxRate == 100)
        #expect(own.maxAttempts == 3 && own.credential == "main")
        #expect(try await store.list().map(\.name) == ["demo", "own", "plain"])
    }

    @Test func `an invalid app is refused with a sentence`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.certificates (name, private_key, key_id, team_id) VALUES ('key', 'k', 'i', 't')
            """
        )
        let store = AppStore(database.connection)
        let refusals: [(String, @Sendable (inout AppSettings) -> Void, SettingsError.Code, String)] = [
            ("demo", { _ in }, .nameTaken, "already"), ("", { _ in }, .invalid, "needs a name"),
            ("x", { $0.credential = "nope" }, .unknownName, "Known credentials: key, main"),
            ("x", { $0.topic = "a b" }, .invalid, "visible ASCII"),
            ("x", { $0.gateway = "localhost" }, .invalid, "host:port"),
            ("x", { $0.gateway = "http://localhost:1" }, .invalid, "host:port"),
            ("x", { $0.feedbackGateway = ":1" }, .invalid, "host:port"),
            ("x", { $0.gatewayCA = "PEM" }, .invalid, "A gateway CA needs a gateway"),
            ("x", { $0.maxRate = 0 }, .invalid, "above 0"),
            ("x", { $0.maxAttempts = 0 }, .invalid, "at least one attempt"),
            (
                "x",
                { app in
                    app.credential = "key"
                    app.protocol = .binary
                }, .invalid, "certificates only"
            ),
            ("x", { $0.credential = "key" }, .invalid, "needs a topic"),
        ]
        for (name, set, code, part) in refusals {
            let error = await #expect(throws: SettingsError.self, "\(part)") { try await store.add(name, set) }
            #expect(error?.code == code)
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        }
        #expect(try await store.list().map(\.name) == ["demo"])
    }

    /// Options accept only the environments and protocols that are known, and the reason of a pause is no setting.
    @Test func `each constraint of an app's settings has a sentence, and the reverse`() async throws {
        let constraints = try await database.rows(
            "SELECT c.conname FROM pg_constraint c WHERE c.conrelid = 'carillon.apps'::regclass AND c.contype = 'c'"
        )
        // `SettingsError` has the sentence of the last one, which only a pause or its end can meet.
        let others = [
            "apps_environment_is_known", "apps_protocol_is_known", "apps_paused_reason_is_4_kb_at_most",
            "apps_moved_app_is_paused",
        ]
        let known = AppSettings.sentences.keys + others
        #expect(Set(constraints).symmetricDifference(known.map { "(\($0))" }) == [])
    }

    @Test func `an app is paused and resumed`() async throws {
        let store = AppStore(database.connection)
        #expect(try await store.setPaused(true, "demo"))
        #expect(try await store.find("demo").isPaused)
        #expect(try await !store.setPaused(true, "demo"))
        #expect(try await database.value("SELECT updated_at > created_at FROM carillon.apps") == "true")
        #expect(try await store.setPaused(false, "demo"))
        #expect(try await !store.find("demo").isPaused)
        let error = await #expect(throws: SettingsError.self) { try await store.setPaused(true, "nope") }
        #expect(error?.message == "There is no app named nope. Known apps: demo.")
    }

    @Test func `an app with jobs left is not removed`() async throws {
        let store = AppStore(database.connection)
        try await database.run(
            """
            SELECT carillon.register_token('demo', 'aa');
            SELECT carillon.enqueue('demo', '{aa}', 'x'), carillon.enqueue('demo', '{aa}', 'x', run_at => '2100-01-01Z')
            """
        )
        let error = await #expect(throws: SettingsError.self) { try await store.remove("demo") }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("2 jobs") == true)
        // The error has the statement that cancels them.
        let statement = try #require(error?.message.split(separator: "with: ").last)
        try await database.run(String(statement))
        try await store.remove("demo")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "0")
        #expect(try await database.value("SELECT sum(cancelled) FROM carillon.results") == "2")
        await #expect(throws: SettingsError.self) { try await store.remove("demo") }
    }

    /// Maintenance deletes their rows. The first three have none when an app is removed.
    private static let keeping: Set = [
        "messages", "scheduled", "inflight", "unfinished", "split_messages", "cancelled", "unknown_outcomes",
        "updates", "update_stamps", "device_slots", "results", "failures", "failed_messages", "push_counts",
        "push_count_sums", "events", "sent_pushes",
    ]

    @Test func `each table with rows of apps loses those of a removed app, or is known to keep them`() async throws {
        let tables = try await database.rows(
            """
            SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'app_id'
            WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT EXISTS (
                SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.confrelid = 'carillon.apps'::regclass)
            """
        )
        let emptied = AppStore.removal.compactMap { $0.sql.firstMatch(of: /FROM carillon\.(\w+)/) }
        // A foreign key of `moves` keeps an app whose move has not ended.
        let known = Self.keeping.union(emptied.map { String($0.output.1) }).subtracting(["moves"])
        #expect(Set(tables).symmetricDifference(known.map { "(\($0))" }) == [])
    }

    @Test func `with an app go the limits of its roles, and with the last one row security`() async throws {
        let store = AppStore(database.connection)
        let (kept, dropped) = ("remove_kept", "remove_dropped")
        try await database.run(
            "DROP ROLE IF EXISTS \(kept); CREATE ROLE \(kept); DROP ROLE IF EXISTS \(dropped); CREATE ROLE \(dropped)"
        )
        try await database.run(
            "SELECT carillon.isolate_app('demo', '\(kept)'), carillon.isolate_app('demo', '\(dropped)')"
        )
        try await database.run("DROP ROLE \(dropped)")
        #expect(try await store.removal(of: "demo").roles == 2)
        try await store.remove("demo")
        #expect(try await database.number("SELECT count(*) FROM carillon.app_roles") == 0)
        let guarded =
            "SELECT count(*) FROM pg_class c WHERE c.relrowsecurity AND c.relname = ANY (carillon.guarded_tables())"
        #expect(try await database.number(guarded) == 0)
        #expect(try await database.value("pg_has_role('\(kept)', 'carillon_tenant', 'MEMBER')") == "false")
        try await database.run("DROP ROLE \(kept)")
    }
}
