import CarillonIO
import Testing

/// Code of an app that runs while tokens are reaped in a table of the app's own.
@Suite(.scene) struct TriggerCases {
    /// Each way to run code: at once, at the commit, and for the next user of the session.
    private static let attacks = [
        "PERFORM evil.steal()",
        "RESET ROLE; PERFORM evil.steal()",
        "SET CONSTRAINTS ALL DEFERRED; INSERT INTO evil.later VALUES (1)",
        "EXECUTE 'DECLARE later CURSOR WITH HOLD FOR SELECT evil.steal()'",
        "SET search_path = evil, pg_catalog",
        """
        FOR name IN SELECT p.name FROM pg_prepared_statements p LOOP
            EXECUTE format('DEALLOCATE %I', name);
            EXECUTE format('PREPARE %I AS SELECT evil.steal()', name);
        END LOOP
        """,
    ]

    /// The first has no effect; what the others do is undone together with the deletion.
    private static let isLeft = Self.attacks.count - 1

    @Test
    func `S10: a trigger on a watched table cannot read a private key, and tokens are still reaped`() async throws {
        try await scene.client.run(Self.thief)
        for (number, attack) in Self.attacks.enumerated() {
            try await scene.client.run(Self.table("devices\(number)", attack))
        }
        try await scene.client.run(Self.table("honest", "NULL"))
        let worker = try scene.fleet.start(Scene.reaping)
        // In order, so that each token is reaped by a pass of its own.
        for token in ["aa00", "bb00", "cc00"] {
            try await scene.register([token])
            try await scene.client.run(
                """
                DO $$ DECLARE name text; BEGIN
                    FOR name IN SELECT w.relation::text FROM carillon.watched_tables w LOOP
                        EXECUTE format('INSERT INTO %s VALUES (''\(token)'', now() - interval ''1 day'')', name);
                    END LOOP;
                END $$
                """
            )
            try await scene.bury([token])
            try await scene.eventually("\(token) is reaped") {
                try await scene.client.number(
                    "SELECT (SELECT count(*) FROM evil.honest) + (SELECT count(*) FROM carillon.tokens)"
                ) == 0
            }
        }
        try await scene.eventually("all faults are written down") {
            try await scene.client.number(
                "SELECT count(*) FROM carillon.watched_tables w WHERE w.last_error IS NOT NULL"
            ) == Self.isLeft
        }
        #expect(try await scene.client.number("SELECT count(*) FROM evil.devices0") == 0)
        #expect(try await scene.client.text("SELECT string_agg(s.who, ', ') FROM evil.stolen s") == "")
        #expect(try await scene.client.number("SELECT count(*) FROM evil.tries") > 0)
        #expect(try await worker.stop() == .status(0))
    }

    /// Reads private keys with the rights of its caller, and ignores a refusal. So do all functions that a session may call
    /// implicitly.
    private static let thief = """
        CREATE SCHEMA evil;
        GRANT USAGE ON SCHEMA evil TO PUBLIC;
        CREATE TABLE evil.stolen (who text, key text);
        CREATE TABLE evil.tries (who text);
        CREATE TABLE evil.later (id int);
        GRANT ALL ON ALL TABLES IN SCHEMA evil TO PUBLIC;
        CREATE FUNCTION evil.steal() RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO evil.tries VALUES (current_user);
            INSERT INTO evil.stolen SELECT current_user, c.private_key FROM carillon.certificates c;
            RETURN NULL;
        EXCEPTION
            WHEN OTHERS THEN
                INSERT INTO evil.tries VALUES (current_user);
                RETURN NULL;
        END $$;
        CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS
            $$ BEGIN PERFORM evil.steal(); RETURN pg_catalog.now(); END $$;
        CREATE FUNCTION evil.make_interval(secs double precision) RETURNS interval LANGUAGE plpgsql AS
            $$ BEGIN PERFORM evil.steal(); RETURN pg_catalog.make_interval(secs => secs); END $$;
        CREATE FUNCTION evil.fire() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM evil.steal(); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER later AFTER INSERT ON evil.later DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION evil.fire();
        """

    private static func table(_ name: String, _ attack: String) -> String {
        """
        CREATE TABLE evil.\(name) (token text, seen timestamptz);
        CREATE INDEX ON evil.\(name) (token);
        CREATE FUNCTION evil.\(name)() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            name text;
        BEGIN
            \(attack);
            RETURN OLD;
        END $$;
        CREATE TRIGGER attack BEFORE DELETE ON evil.\(name) FOR EACH ROW EXECUTE FUNCTION evil.\(name)();
        GRANT SELECT, DELETE ON evil.\(name) TO carillon_reaper;
        SELECT carillon.watch_tokens('\(Scene.app)', 'evil.\(name)', 'token', 'seen');
        """
    }
}
