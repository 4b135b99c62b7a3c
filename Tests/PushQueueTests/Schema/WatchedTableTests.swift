import Postgres
import Testing

/// Tables of the app's own, reaped by the same rule.
@Suite struct WatchedTableTests {
    private static func dead(_ tokens: String..., in database: SchemaDatabase) async throws {
        for token in tokens {
            try await database.run(
                "INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, '\(token)', '2020-01-02Z')"
            )
        }
    }

    @Test func `a watched table is reaped, in either case of hex, and only where it is the app's`() async throws {
        try await SchemaDatabase.with { database async throws in
            try await database.run(
                """
                CREATE SCHEMA "My App";
                CREATE TABLE "My App"."De""vices" (key uuid DEFAULT gen_random_uuid(), "the token" varchar(200),
                    "when" timestamptz, app text, number int);
                INSERT INTO "My App"."De""vices" VALUES
                    (DEFAULT, 'AABB', '2020-01-01Z', 'demo', 1), (DEFAULT, 'aabb', '2020-01-03Z', 'demo', 1),
                    (DEFAULT, 'ccdd', '2020-01-01Z', 'other', 2), (DEFAULT, 'eeff', '2020-01-01Z', 'demo', 1)
                """
            )
            for column in ["app", "number"] {
                try await database.run(
                    #"SELECT carillon.watch_tokens('demo', '"My App"."De""vices"', 'the token', 'when', '\#(column)')"#
                )
                try await Self.dead("aabb", "ccdd", in: database)
                #expect(try await database.value("carillon.reap()") == (column == "app" ? "1" : "0"))
            }
            #expect(try await database.value("SELECT count(*) FROM carillon.watched_tables") == "1")
            try await database.run(
                #"SELECT carillon.watch_tokens('demo', '"My App"."De""vices"', 'the token', 'when')"#
            )
            try await Self.dead("ccdd", in: database)
            #expect(try await database.value("carillon.reap()") == "1")
            #expect(
                try await database.rows(#"SELECT "the token" FROM "My App"."De""vices" ORDER BY 1"#) == [
                    "(aabb)", "(eeff)",
                ]
            )
            try await database.run(#"SELECT carillon.unwatch_tokens('demo', '"My App"."De""vices"')"#)
            try await Self.dead("eeff", in: database)
            #expect(try await database.value("carillon.reap()") == "0")
        }
    }

    @Test func `what cannot be reaped is refused when it is named`() async throws {
        try await SchemaDatabase.with { database async throws in
            try await database.run(
                """
                CREATE TABLE devices (token text, bytes bytea, updated timestamptz, naive timestamp, app text, flag boolean);
                CREATE VIEW devices_view AS TABLE devices
                """
            )
            for (arguments, argument, state) in [
                ("'nope', 'devices', 'token', 'updated'", "app", "42704"),
                ("'demo', 'devices_view', 'token', 'updated'", "relation", "22023"),
                ("'demo', NULL, 'token', 'updated'", "relation", "22023"),
                ("'demo', 'devices', 'tokens', 'updated'", "token_column", "42703"),
                ("'demo', 'devices', 'bytes', 'updated'", "token_column", "42804"),
                ("'demo', 'devices', NULL, 'updated'", "token_column", "42703"),
                ("'demo', 'devices', 'token', 'naive'", "updated_column", "42804"),
                ("'demo', 'devices', 'token', 'token'", "updated_column", "42804"),
                ("'demo', 'devices', 'token', 'updated', 'flag'", "app_column", "42804"),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(arguments)") {
                    try await database.value("carillon.watch_tokens(\(arguments))")
                }
                #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
                #expect(error?.sqlState == state, "\(arguments)")
            }
            let naive = await #expect(throws: PostgresError.self) {
                try await database.value("carillon.watch_tokens('demo', 'devices', 'token', 'naive')")
            }
            #expect(naive?.hint?.contains("TYPE timestamptz") == true)
            let missing = await #expect(throws: PostgresError.self) {
                try await database.value("carillon.watch_tokens('demo', 'nowhere', 'token', 'updated')")
            }
            #expect(missing?.sqlState == "42P01")
        }
    }

    @Test func `a table that has changed says what is wrong, harms no other, and is made up for`() async throws {
        try await SchemaDatabase.with { database async throws in
            try await database.run(
                """
                CREATE TABLE broken (token text, updated timestamptz);
                CREATE TABLE sound (token text, updated timestamptz);
                INSERT INTO broken VALUES ('aa', '2020-01-01Z');
                INSERT INTO sound VALUES ('aa', '2020-01-01Z');
                INSERT INTO carillon.tokens VALUES (1, 'aa', '2020-01-01Z');
                SELECT carillon.watch_tokens('demo', 'broken', 'token', 'updated');
                SELECT carillon.watch_tokens('demo', 'sound', 'token', 'updated');
                ALTER TABLE broken RENAME updated TO changed
                """
            )
            try await Self.dead("aa", in: database)
            #expect(try await database.value("carillon.reap()") == "2")
            #expect(
                try await database.rows("SELECT relation, last_error IS NULL FROM carillon.watched_tables ORDER BY id")
                    == ["(broken,f)", "(sound,t)"]
            )
            #expect(try await database.value("SELECT count(*) FROM carillon.feedback WHERE handled_at IS NULL") == "1")
            try await database.run("ALTER TABLE broken RENAME changed TO updated")
            #expect(try await database.value("carillon.reap()") == "1")
            #expect(
                try await database.value("SELECT bool_and(last_error IS NULL) FROM carillon.watched_tables") == "true"
            )
            #expect(try await database.value("SELECT count(*) FROM carillon.feedback WHERE handled_at IS NULL") == "0")
            try await database.run("DROP TABLE broken")
            try await Self.dead("bb", in: database)
            #expect(try await database.value("carillon.reap()") == "0")
            #expect(
                try await database.value("SELECT last_error FROM carillon.watched_tables ORDER BY id LIMIT 1") != nil
            )
        }
    }
}
