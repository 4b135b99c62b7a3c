import CarillonPostgres
import TestSupport
import Testing

/// Tables of the app's own, reaped by the same rule.
@Suite(.demo) struct WatchedTableTests {
    private static func dead(_ tokens: String..., in database: TestDatabase) async throws {
        for token in tokens {
            try await database.run(
                "INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (1, '\(token)', '2020-01-02Z')"
            )
        }
    }

    @Test func `a watched table is reaped in upper and lower case, and only for its app`() async throws {
        try await database.run(
            """
            CREATE SCHEMA "My App";
            CREATE TABLE "My App"."De""vices" (key uuid DEFAULT gen_random_uuid(), "the token" varchar(200),
                "when" timestamptz, app text, number int);
            INSERT INTO "My App"."De""vices" VALUES
                (DEFAULT, 'AABB', '2020-01-01Z', 'demo', 1), (DEFAULT, 'aabb', '2020-01-03Z', 'demo', 1),
                (DEFAULT, 'ccdd', '2020-01-01Z', 'other', 2), (DEFAULT, 'eeff', '2020-01-01Z', 'demo', 1);
            GRANT USAGE ON SCHEMA "My App" TO carillon_reaper;
            GRANT SELECT, DELETE ON "My App"."De""vices" TO carillon_reaper;
            SET quote_all_identifiers = on
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
        try await database.run(#"SELECT carillon.watch_tokens('demo', '"My App"."De""vices"', 'the token', 'when')"#)
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

    @Test func `a table that cannot be reaped is refused when it is named`() async throws {
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
            let error = await database.refusal(ofValue: "carillon.watch_tokens(\(arguments))", "\(arguments)")
            #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
            #expect(error?.sqlState == state, "\(arguments)")
        }
        let naive = await database.refusal(ofValue: "carillon.watch_tokens('demo', 'devices', 'token', 'naive')")
        #expect(naive?.hint?.contains("TYPE timestamptz") == true)
        let missing = await database.refusal(ofValue: "carillon.watch_tokens('demo', 'nowhere', 'token', 'updated')")
        #expect(missing?.sqlState == "42P01")
    }

    @Test func `a changed table reports its fault, affects no other, and is reaped when repaired`() async throws {
        try await database.run(
            """
            CREATE TABLE broken (token text, updated timestamptz);
            CREATE TABLE sound (token text, updated timestamptz);
            INSERT INTO broken VALUES ('aa', '2020-01-01Z'), ('bb', '2020-01-01Z');
            INSERT INTO sound SELECT * FROM broken;
            INSERT INTO carillon.tokens SELECT 1, * FROM broken;
            GRANT SELECT, DELETE ON broken, sound TO carillon_reaper;
            SELECT carillon.watch_tokens('demo', 'broken', 'token', 'updated');
            SELECT carillon.watch_tokens('demo', 'sound', 'token', 'updated');
            ALTER TABLE broken RENAME updated TO changed
            """
        )
        try await Self.dead("aa", in: database)
        #expect(try await database.value("carillon.reap()") == "2")
        let state = "SELECT relation, last_error IS NULL, missed_from FROM carillon.watched_tables ORDER BY id"
        #expect(try await database.rows(state) == ["(broken,f,1)", "(sound,t,)"])
        // Others go on, and what is done with is not looked at again.
        #expect(try await database.value("SELECT count(*) FROM carillon.feedback WHERE handled_at IS NULL") == "0")
        try await Self.dead("bb", in: database)
        #expect(try await database.value("carillon.reap()") == "2")
        #expect(try await database.rows(state) == ["(broken,f,1)", "(sound,t,)"])
        try await database.run("ALTER TABLE broken RENAME changed TO updated")
        #expect(try await database.value("carillon.reap()") == "2")
        #expect(try await database.rows(state) == ["(broken,t,)", "(sound,t,)"])
        try await database.run("DROP TABLE broken")
        try await Self.dead("cc", in: database)
        #expect(try await database.value("carillon.reap()") == "0")
        #expect(
            try await database.value("SELECT last_error FROM carillon.watched_tables ORDER BY id LIMIT 1")
                == "argument \"relation\" takes a table, got one that was dropped"
        )
    }

    @Test func `a column that has lost its time zone is not reaped`() async throws {
        try await database.run(
            """
            CREATE TABLE devices (token text, updated timestamptz);
            INSERT INTO devices VALUES ('aa', '2020-01-01Z');
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            ALTER TABLE devices ALTER updated TYPE timestamp
            """
        )
        try await Self.dead("aa", in: database)
        #expect(try await database.value("carillon.reap()") == "0")
        let error = try await database.value("SELECT last_error FROM carillon.watched_tables")
        #expect(error?.contains("'updated' of type timestamp without time zone") == true)
    }

    @Test func `without the right to delete in a table a pass reports it, and deletes in others`() async throws {
        try await database.run(
            """
            CREATE TABLE devices (token text, updated timestamptz);
            INSERT INTO devices VALUES ('aa', '2020-01-01Z');
            INSERT INTO carillon.tokens VALUES (1, 'aa', '2020-01-01Z');
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            SET ROLE carillon_worker
            """
        )
        try await Self.dead("aa", in: database)
        #expect(try await database.value("carillon.reap()") == "1")
        #expect(
            try await database.value("SELECT last_error FROM carillon.watched_tables")
                == "permission denied for table devices"
        )
        try await database.run(
            "RESET ROLE; GRANT SELECT, DELETE ON devices TO carillon_reaper; SET ROLE carillon_worker"
        )
        #expect(try await database.value("carillon.reap()") == "1")
    }

    @Test func `a row that a constraint protects does not keep others`() async throws {
        try await database.run(
            """
            CREATE TABLE devices (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), token text, updated timestamptz);
            CREATE TABLE orders (device uuid REFERENCES devices);
            INSERT INTO devices (token, updated)
            SELECT lpad(to_hex(i), 4, '0'), '2020-01-01Z' FROM generate_series(1, 100) i;
            INSERT INTO orders SELECT id FROM devices WHERE token = '0021';
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT 1, token, now() FROM devices
            """
        )
        #expect(try await database.value("carillon.reap()") == "99")
        #expect(try await database.rows("SELECT token FROM devices") == ["(0021)"])
        #expect(
            try await database.rows(
                "SELECT last_error LIKE '%foreign key%', missed_from FROM carillon.watched_tables"
            ) == ["(t,)"]
        )
    }

    @Test func `a locked table does not block the others, and is reaped later`() async throws {
        try await database.run(
            """
            CREATE TABLE devices (token text, updated timestamptz);
            INSERT INTO devices SELECT lpad(to_hex(i), 4, '0'), '2020-01-01Z' FROM generate_series(1, 30) i;
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            INSERT INTO carillon.tokens SELECT 1, * FROM devices;
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT 1, token, now() FROM devices
            """
        )
        try await database.session { other in
            try await other.run("BEGIN; LOCK TABLE devices IN ACCESS EXCLUSIVE MODE")
            #expect(try await database.value("carillon.reap()") == "30")
            #expect(
                try await database.rows("SELECT last_error, missed_from FROM carillon.watched_tables")
                    == [#"("canceling statement due to lock timeout",1)"#]
            )
            try await other.run("COMMIT")
        }
        // It makes up for it in batches of its own.
        var place = "NULL"
        var deleted = 0
        while true {
            let step = try await database.rows(
                "SELECT state, translate(next::text, ',', ' '), deleted FROM carillon.reap_batch(NULL, \(place), 7)"
            )
            let words = step[0].split { "(),\"".contains($0) }
            if words[0] == "over" { break }
            place = "translate('(\(words[1]))', ' ', ',')::carillon.reap_position"
            deleted += Int(words[2]) ?? 0
        }
        #expect(deleted == 30)
        #expect(try await database.rows("SELECT last_error, missed_from FROM carillon.watched_tables") == ["(,)"])
    }

    @Test func `a trigger of a watched table finds the tables that its owner's search path leads to`() async throws {
        let owner = "owner_\(database.connection.backendProcessID)"
        try await database.run(
            """
            CREATE ROLE \(owner);
            CREATE SCHEMA "Shop" AUTHORIZATION \(owner);
            CREATE SCHEMA \(owner) AUTHORIZATION \(owner);
            CREATE SCHEMA logs AUTHORIZATION \(owner);
            SET ROLE \(owner);
            CREATE TABLE "Shop".devices (token text, updated timestamptz);
            CREATE TABLE "Shop".gone (token text);
            CREATE TABLE \(owner).gone (token text);
            CREATE TABLE logs.gone (token text);
            GRANT INSERT ON "Shop".gone, \(owner).gone, logs.gone TO carillon_reaper;
            GRANT USAGE ON SCHEMA "Shop", \(owner), logs TO carillon_reaper;
            GRANT SELECT, DELETE ON "Shop".devices TO carillon_reaper;
            CREATE FUNCTION "Shop".note() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO gone VALUES (OLD.token); RETURN OLD; END $$;
            CREATE TRIGGER note AFTER DELETE ON "Shop".devices FOR EACH ROW EXECUTE FUNCTION "Shop".note();
            RESET ROLE;
            SELECT carillon.watch_tokens('demo', '"Shop".devices', 'token', 'updated')
            """
        )
        for (number, setting) in ["SELECT 1", "ALTER ROLE \(owner) SET search_path = logs", "DROP TABLE logs.gone"]
            .enumerated()
        {
            try await database.run(
                #"\#(setting); INSERT INTO "Shop".devices VALUES ('aa0\#(number)', '2020-01-01Z')"#
            )
            try await Self.dead("aa0\(number)", in: database)
            #expect(try await database.value("carillon.reap()") == "1")
        }
        #expect(try await database.rows("SELECT last_error FROM carillon.watched_tables") == ["()"])
        #expect(try await database.rows("TABLE \(owner).gone") == ["(aa00)"])
        #expect(try await database.rows(#"TABLE "Shop".gone"#) == ["(aa02)"])
        try await database.run("DROP OWNED BY \(owner) CASCADE; DROP ROLE \(owner)")
    }

    /// What strangers prepare: a function that notes whose rights it has, and a trigger that calls it when a transaction ends.
    private static let evil = """
        CREATE SCHEMA evil;
        GRANT USAGE ON SCHEMA evil TO PUBLIC;
        CREATE TABLE evil.stolen (who text);
        CREATE TABLE evil.later (id int);
        CREATE TABLE evil.excluding (id int);
        GRANT ALL ON ALL TABLES IN SCHEMA evil TO PUBLIC;
        CREATE FUNCTION evil.steal() RETURNS int LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO evil.stolen VALUES (current_user); RETURN 1; END $$;
        CREATE FUNCTION evil.fire() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM evil.steal(); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER later AFTER INSERT ON evil.later DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION evil.fire();
        CREATE TABLE evil.devices (token text, updated timestamptz);
        INSERT INTO evil.devices VALUES ('aa', '2020-01-01Z')
        """
    /// What would be left in the session.
    private static let left = """
        SELECT 1 FROM pg_prepared_statements WHERE statement LIKE 'PREPARE%'
        UNION ALL SELECT 2 FROM pg_cursors WHERE is_holdable
        """

    /// What a trigger may try, and what is said of it. Each is undone, and harms nothing else.
    private static let traces = [
        ("SET search_path = evil, pg_catalog", "changed settings of the session"),
        ("SET statement_timeout = 1", "changed settings of the session"),
        ("EXECUTE 'DECLARE later CURSOR WITH HOLD FOR SELECT evil.steal()'", "left a cursor open"),
        ("EXECUTE 'PREPARE reap_batch AS SELECT evil.steal()'", "changed prepared statements"),
        ("EXECUTE 'PREPARE reap_batch AS SELECT evil.steal()'; RAISE EXCEPTION 'no'", "no"),
        ("EXECUTE 'PREPARE reap_batch AS SELECT evil.steal()'; PERFORM 1 / 0", "division by zero"),
        ("CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (evil.steal() = 1)", "left objects in pg_temp"),
        ("CREATE TABLE pg_temp.feedback (id int)", "left objects in pg_temp"),
        ("CREATE FUNCTION pg_temp.now() RETURNS int LANGUAGE sql AS 'SELECT evil.steal()'", "left objects in pg_temp"),
        ("EXECUTE 'DROP OWNED BY carillon_reaper'", "changed the role carillon_reaper"),
        ("INSERT INTO evil.later VALUES (1)", "must not be DEFERRABLE"),
        (
            "SET CONSTRAINTS ALL IMMEDIATE; INSERT INTO evil.later VALUES (1); SET CONSTRAINTS ALL DEFERRED",
            "DEFERRABLE"
        ),
        ("INSERT INTO evil.excluding VALUES (1)", "must not be DEFERRABLE"),
        ("SET ROLE carillon_worker", "cannot set parameter \"role\""), ("RESET ROLE", "cannot set parameter \"role\""),
        ("PERFORM private_key FROM carillon.certificates", "permission denied for schema carillon"),
        ("ALTER FUNCTION carillon.as_reaper SECURITY INVOKER", "permission denied for schema carillon"),
    ]

    @Test(arguments: Self.traces.map { ($0.0, $0.1) })
    func `a trigger cannot leave code that runs with the rights of the worker`(
        _ attempt: String,
        _ fault: String
    ) async throws {
        try await database.run(
            """
            \(Self.evil);
            CREATE FUNCTION evil.index(i int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT i';
            ALTER TABLE evil.excluding ADD EXCLUDE (evil.index(id) WITH =) DEFERRABLE INITIALLY DEFERRED;
            CREATE TABLE sound (token text, updated timestamptz);
            CREATE FUNCTION evil.attempt() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN \(attempt); RETURN OLD; END $$;
            CREATE TRIGGER attempt BEFORE DELETE ON evil.devices FOR EACH ROW EXECUTE FUNCTION evil.attempt();
            INSERT INTO sound TABLE evil.devices;
            GRANT SELECT, DELETE ON evil.devices, sound TO carillon_reaper;
            SELECT carillon.watch_tokens('demo', 'evil.devices', 'token', 'updated');
            SELECT carillon.watch_tokens('demo', 'sound', 'token', 'updated');
            """
        )
        try await Self.dead("aa", in: database)
        let settings = "SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_catalog.pg_settings"
        let before = try await database.rows(settings)
        try await database.run("SET ROLE carillon_worker; SELECT carillon.reap(); RESET ROLE")
        let error = try await database.value("SELECT last_error FROM carillon.watched_tables ORDER BY id LIMIT 1")
        #expect(error?.contains(fault) == true, "\(error ?? "")")
        #expect(try await database.rows("TABLE evil.stolen").isEmpty)
        #expect(try await database.rows(settings) == before)
        #expect(try await database.rows(Self.left).isEmpty)
        #expect(try await database.value("SELECT count(*) FROM evil.devices") == "1")
        #expect(try await database.value("SELECT count(*) FROM sound") == "0")
        try await database.run("DROP TRIGGER attempt ON evil.devices")
        // What a trigger keeps by an error of its own stays alone.
        #expect(try await database.value("carillon.reap()") == (fault == "no" ? "0" : "1"))
    }

    /// What a policy of the table may try while somebody only wants to know what would be deleted.
    @Test(arguments: [
        "EXECUTE 'DECLARE later CURSOR WITH HOLD FOR SELECT evil.steal()'",
        "EXECUTE 'PREPARE reap_batch AS SELECT evil.steal()'",
        "EXECUTE 'PREPARE reap_batch AS SELECT evil.steal()'; RAISE EXCEPTION 'no'",
        "EXECUTE 'DROP OWNED BY carillon_reaper'", "INSERT INTO evil.later VALUES (1)",
        "CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (evil.steal() = 1)",
    ])
    func `a policy of a counted table cannot leave code that runs with the rights of the worker`(_ attempt: String)
        async throws
    {
        try await database.run(
            """
            \(Self.evil);
            CREATE FUNCTION evil.attempt() RETURNS boolean LANGUAGE plpgsql AS
                $$ BEGIN \(attempt); RETURN true; END $$;
            CREATE POLICY attempt ON evil.devices USING (evil.attempt());
            ALTER TABLE evil.devices ENABLE ROW LEVEL SECURITY;
            GRANT SELECT, DELETE ON evil.devices TO carillon_reaper;
            SELECT carillon.watch_tokens('demo', 'evil.devices', 'token', 'updated')
            """
        )
        try await Self.dead("aa", in: database)
        #expect(
            try await database.rows(
                "SELECT tokens, fault IS NULL FROM carillon.reapable() WHERE relation <> 'carillon.tokens'"
            ) == ["(,f)"]
        )
        #expect(try await database.rows("TABLE evil.stolen").isEmpty)
        #expect(try await database.rows(Self.left).isEmpty)
        #expect(try await database.value("has_table_privilege('carillon_reaper', 'evil.devices', 'DELETE')") == "true")
    }
}
