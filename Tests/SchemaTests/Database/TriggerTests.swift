import CarillonPostgres
import TestSupport
import Testing

/// Triggers that users add to our tables run under the search_path that they expect, and the functions of Carillon use
/// no object that others may have created there.
@Suite struct TriggerTests {
    private static let tables = ["results", "failures", "failed_messages", "feedback", "messages", "scheduled"]

    private static func job(_ id: Int, _ tokens: String, origin: Int? = nil) -> String {
        """
        carillon.job(id => \(id), lane => 1::smallint, tokens => '\(tokens)', payload => '{"aps":{}}', reference => 'r',
            origin => \(origin.map(String.init) ?? "NULL"), created_at => now())
        """
    }

    private static let queue = """
        UPDATE carillon.apps SET reap_bad_tokens = true;
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour');
        INSERT INTO carillon.unfinished (message_id, app_id, remaining) VALUES (190, 1, 1), (191, 1, 5), (192, 1, 1), (193, 1, 1);
        INSERT INTO carillon.cancelled (app_id, message_id) VALUES (1, 193);
        INSERT INTO carillon.inflight (id, worker_id, app_id, jobs) OVERRIDING SYSTEM VALUE VALUES
            (1, 1, 1, ARRAY[\(job(100, "{aa}")), \(job(101, "{bb}")), \(job(102, "{cc,cd}")), \(job(103, "{dd}")),
                \(job(104, "{ee}", origin: 190)), \(job(105, "{ef}", origin: 191))]),
            (2, 1, 1, ARRAY[\(job(110, "{aa}"))]), (3, 1, 1, ARRAY[\(job(111, "{aa}", origin: 193))]);
        INSERT INTO carillon.messages (id, app_id, tokens, payload)
        VALUES (120, 1, '{aa,ab,ac}', '{}'), (121, 1, '{aa}', '{}')
        """

    /// One call for each way in which workers write to those tables.
    private static let work = [
        """
        SELECT carillon.settle(app => 1, claim => 1, worker => 1,
            claimed => (SELECT f.claimed_at FROM carillon.inflight f WHERE f.id = 1), settlement_number => 0::smallint,
            ended => '{100,102,190}', ended_remaining => '{NULL,1,0}', ended_reference => '{r,r,r}', ended_broadcast => '{}',
            ended_created => '{}', ended_sent => '{1,1,1}', ended_failed => '{0,0,0}', ended_expired => '{0,0,0}',
            ended_attempts => '{1,1,1}', ended_status => '{}', ended_reason => '{}',
            failed => '{101,101}', failed_reference => '{r,r}', failed_token => '{bb,bc}', failed_status => '{410,400}',
            failed_reason => '{Unregistered,BadDeviceToken}', failed_unregistered_at => '{2026-01-01,NULL}',
            failed_apns_id => '{NULL,NULL}', failed_unique_id => '{}', failed_attempt => '{1,1}',
            going_back => '{102,103}', going_back_whole => '{f,t}', going_back_attempt => '{2,1}', going_back_after => '{1000,NULL}',
            going_back_status => '{503,NULL}', going_back_reason => '{ServiceUnavailable,NULL}', going_back_place => '{1}', going_back_token => '{cd}',
            staying => '{105}', staying_whole => '{t}', staying_place => '{}', staying_token => '{}', unknown => '{}',
            identified => '{}', identified_token => '{}', identified_unique_id => '{}')
        """,
        """
        SELECT carillon.settle_unrecorded(1, 1, 1, (SELECT f.claimed_at FROM carillon.inflight f WHERE f.id = 1), 1::smallint,
            105, 0, '{ef}', '{500}', '{NULL}')
        """,
        "SELECT carillon.release(1, '{2,3}')", "SELECT carillon.promote(10)",
        "SELECT carillon.split(1, 1::smallint, 120, 1)", "SELECT carillon.discard_unreadable(1, 1::smallint, 121)",
        "SELECT carillon.keep_feedback('{1}', '{aa}', '{0}')",
        "SELECT carillon.fail_jobs(1, ARRAY[\(job(130, "{aa,AA}")), \(job(131, "{bb}", origin: 192))], 'Poison')",
    ]

    /// - Parameter preparing: what else has happened in the session.
    private func work(in database: TestDatabase, preparing: String = "") async throws {
        // As in a worker's session: use_session_path() resets it to the setting of the database.
        try await database.session { worker in
            try await worker.run(Self.queue)
            try await worker.run("\(preparing); SET ROLE carillon_worker")
            for statement in Self.work { try await worker.run(statement) }
        }
    }

    @Test(.demo)
    func `a trigger that names its tables without a schema works on every table that workers write`() async throws {
        try await database.run(
            """
            CREATE TABLE audit (relation text, row json);
            GRANT INSERT ON audit TO carillon_worker;
            CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO audit VALUES (TG_ARGV[0], row_to_json(NEW)); RETURN NEW; END $$;
            """
        )
        for table in Self.tables {
            try await database.run(
                """
                CREATE TRIGGER note BEFORE INSERT ON carillon.\(table) FOR EACH ROW EXECUTE FUNCTION note('\(table)')
                """
            )
        }
        try await work(in: database)
        for table in Self.tables {
            // Two rows of messages were there before.
            let rows = try await database.value("SELECT count(*) FROM audit WHERE relation = '\(table)'")
            #expect(Int(rows ?? "") ?? 0 > (table == "messages" ? 2 : 0), "\(table): \(rows ?? "")")
        }
        #expect(
            try await database.rows("SELECT message_id, sent, failed, cancelled FROM carillon.results ORDER BY 1")
                == ["(100,1,0,0)", "(121,0,1,0)", "(130,0,1,0)", "(190,1,0,0)", "(192,0,1,0)", "(193,0,0,1)"]
        )
        #expect(
            try await database.rows("SELECT message_id, token, reason FROM carillon.failures ORDER BY 1, 2") == [
                "(101,bb,Unregistered)", "(101,bc,BadDeviceToken)", #"(121,"",Unreadable)"#, "(130,aa,Poison)",
                "(191,ef,Unrecorded)",
                "(192,bb,Poison)",
            ]
        )
    }

    /// Functions and operators that match our argument types better than PostgreSQL's own, which take any type.
    private static let traps = """
        CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;
        CREATE SEQUENCE evil.stolen; GRANT ALL ON SEQUENCE evil.stolen TO PUBLIC;
        DO $$ DECLARE t text; BEGIN
            FOREACH t IN ARRAY '{bigint,integer,smallint,text,boolean,uuid,timestamptz,carillon.job,carillon.cancelled_job}'::text[] LOOP
                EXECUTE format('CREATE FUNCTION evil.cardinality(%s[]) RETURNS integer LANGUAGE sql AS '
                    '''SELECT pg_catalog.cardinality($1) + 0 * nextval(''''evil.stolen'''')::integer''', t);
                EXECUTE format('CREATE FUNCTION evil.unnest(%s[]) RETURNS SETOF %1$s LANGUAGE plpgsql AS '
                    '''BEGIN PERFORM nextval(''''evil.stolen''''); RETURN QUERY SELECT a FROM pg_catalog.unnest($1) a; END''', t);
                EXECUTE format('CREATE FUNCTION evil.add(%s[], %1$s) RETURNS %1$s[] LANGUAGE sql AS '
                    '''SELECT pg_catalog.array_append($1, $2) FROM nextval(''''evil.stolen'''')''', t);
                EXECUTE format('CREATE FUNCTION evil.up(bigint, %s) RETURNS bigint LANGUAGE sql AS '
                    '''SELECT $1 + 1 FROM nextval(''''evil.stolen'''')''', t);
                EXECUTE format('CREATE FUNCTION evil.both(%s[], %1$s[]) RETURNS boolean LANGUAGE sql AS '
                    '''SELECT true FROM nextval(''''evil.stolen'''')''', t);
                EXECUTE format('CREATE AGGREGATE evil.array_agg(%s) (SFUNC = evil.add, STYPE = %1$s[])', t);
                EXECUTE format('CREATE AGGREGATE evil.count(%s) (SFUNC = evil.up, STYPE = bigint, INITCOND = 0)', t);
                EXECUTE format('CREATE OPERATOR evil.&& (FUNCTION = evil.both, LEFTARG = %s[], RIGHTARG = %1$s[])', t);
                EXECUTE format('CREATE OPERATOR evil.= (FUNCTION = evil.both, LEFTARG = %s[], RIGHTARG = %1$s[])', t);
            END LOOP;
        END $$;
        CREATE FUNCTION evil.split(integer, numeric) RETURNS numeric LANGUAGE sql AS
            'SELECT 1.0 FROM nextval(''evil.stolen'')';
        CREATE OPERATOR evil./ (FUNCTION = evil.split, LEFTARG = integer, RIGHTARG = numeric);
        CREATE FUNCTION evil.nextval(text) RETURNS bigint LANGUAGE sql AS
            'SELECT pg_catalog.nextval($1) FROM pg_catalog.nextval(''evil.stolen'')';
        CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS
            'SELECT ''x'' FROM pg_catalog.nextval(''evil.stolen'')';
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = evil, public', current_database()); END $$
        """

    @Test(.demo) func `no function on the search_path is called in place of PostgreSQL's own`() async throws {
        try await database.run(Self.traps)
        try await work(in: database)
        #expect(try await database.value("SELECT s.is_called FROM evil.stolen s") == "false")
        // Without a schema, these functions would be called.
        try await database.session { victim async throws in
            #expect(try await victim.value("SELECT cardinality('{1}'::bigint[])") == "1")
        }
        #expect(try await database.value("SELECT s.is_called FROM evil.stolen s") == "true")
    }

    /// Types and tables of these names would be found first in a session that does not name pg_temp in its search_path.
    private static let residue = """
        CREATE FUNCTION pg_temp.trip() RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_catalog.nextval('evil.stolen'); RETURN true; END $$;
        DO $$
        DECLARE
            types CONSTANT text[] := ARRAY(SELECT p.typname FROM pg_type p
                WHERE p.typnamespace = 'pg_catalog'::regnamespace AND p.typtype = 'b' AND p.typcategory <> 'A');
            tables CONSTANT text[] := ARRAY(SELECT c.relname FROM pg_class c
                WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind = 'r');
            t text;
        BEGIN
            FOREACH t IN ARRAY types LOOP
                EXECUTE pg_catalog.format('CREATE DOMAIN pg_temp.%I AS pg_catalog.%1$I CHECK (pg_temp.trip())', t);
            END LOOP;
            FOREACH t IN ARRAY tables LOOP
                EXECUTE pg_catalog.format('CREATE TABLE pg_temp.%I (id pg_catalog.int4)', t);
            END LOOP;
            CREATE DOMAIN pg_temp.record AS pg_catalog.text CHECK (pg_temp.trip());
        END $$;
        SELECT pg_catalog.setval('evil.stolen', 1, false)
        """

    @Test(.demo)
    func `no type or table that was left in the session is used in place of PostgreSQL's own or ours`() async throws {
        try await database.run(Self.traps)
        try await work(in: database, preparing: Self.residue)
        #expect(try await database.value("SELECT s.is_called FROM evil.stolen s") == "false")
    }

    /// pg_cron, or a person in psql, calls these on the search_path of the session.
    @Test(.demo) func `a call of the owner uses no object that was left in the session`() async throws {
        try await database.run(Self.traps)
        try await database.session { owner in
            try await owner.run(Self.residue)
            for call in [
                "CALL carillon.maintain()", "CALL carillon.reap_all()", "SELECT carillon.cancel(1)",
                "SELECT carillon.cancel_broadcast(1)", "SELECT carillon.cancel(owner => 'me')",
                "SELECT carillon.forget('demo', 'me')", "SELECT carillon.app_id('demo')",
                "SELECT carillon.enqueue('demo', '{aa}', 'x')", "SELECT carillon.broadcast('demo', 'x')",
            ] {
                try await owner.run("RESET search_path")
                try await owner.run(call)
                #expect(try await database.value("SELECT s.is_called FROM evil.stolen s") == "false", "\(call)")
            }
        }
    }

    /// Names without a schema in what runs on the search_path of the session: what follows use_session_path(), but for a handler
    /// that takes it back, functions that a role or the owner calls, and all that these call, if they pin no search_path.
    private static let unqualified = #"""
        WITH RECURSIVE code AS (
            SELECT p.proname::text AS name, coalesce(
                substring(regexp_replace(p.prosrc, '\n( *)(    PERFORM carillon\.use_session_path\(\);.*)\n\1EXCEPTION.*\n\1END', '\2')
                    FROM 'use_session_path\(\);(.*)'),
                substring(p.prosrc FROM 'set_config\(''search_path'', NULL, true\);(.*?)(?:pg_catalog\.set_config|$)')) AS body
            FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace
            UNION
            SELECT p.proname::text, p.prosrc FROM pg_proc p
            WHERE p.pronamespace = 'carillon'::regnamespace AND coalesce(p.proconfig::text, '') !~ 'search_path='
                AND (obj_description(p.oid, 'pg_proc') NOT LIKE 'Internal:%' OR EXISTS (
                    SELECT FROM pg_roles r WHERE r.rolname ~ '^carillon_' AND has_function_privilege(r.oid, p.oid, 'EXECUTE')))
            UNION
            SELECT p.proname::text, p.prosrc FROM code c
            CROSS JOIN LATERAL regexp_matches(c.body, 'carillon\.(\w+)\(', 'g') AS m(names)
            JOIN pg_proc p ON p.pronamespace = 'carillon'::regnamespace AND p.proname = m.names[1]
                AND coalesce(p.proconfig::text, '') !~ 'search_path='
        )
        SELECT DISTINCT c.name, coalesce(m.names[1], m.names[2], m.names[3], m.names[4]) AS unqualified FROM code c
        CROSS JOIN LATERAL regexp_matches(regexp_replace(c.body, '--[^\n]*', '', 'g'),
            '(?<![.\w])([a-z_]+)\s*\(|\m(?:FROM|JOIN|INTO|UPDATE)\s+([a-z_]+)\M(?!\s*[.(])'
            -- Casts, variables and literals.
            || '|(?:::|\mCONSTANT |(?:\mDECLARE|;)\s+[a-z_]+ )([a-z_0-9]+)\M(?!\.)|(?<![.\w])([a-z_0-9]+) ''', 'g') AS m(names)
        WHERE m.names[1] NOT IN ('unnest', 'extract') AND EXISTS (SELECT FROM pg_proc b WHERE b.proname = m.names[1])
            OR EXISTS (SELECT FROM pg_class r WHERE r.relname = m.names[2] AND r.relnamespace = 'carillon'::regnamespace)
            -- The other types are words of the language.
            OR coalesce(m.names[3], m.names[4]) NOT IN ('bigint', 'boolean', 'float', 'integer', 'interval', 'numeric', 'smallint')
                AND (m.names[4] IS NULL OR EXISTS (SELECT FROM pg_type t WHERE t.typname = m.names[4]))
        """#

    @Test func `code that runs on the search_path of a session names functions, relations and types with their schema`()
        async throws
    {
        try await TestDatabase.with(.schema) { database in
            #expect(try await database.rows(Self.unqualified) == [])
            try await database.run(
                """
                CREATE FUNCTION carillon.wrong() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS
                $$ BEGIN PERFORM now(); PERFORM carillon.use_session_path(); PERFORM carillon.part(lower('x')) FROM apps; END $$;
                CREATE FUNCTION carillon.part(text) RETURNS text LANGUAGE sql AS $$ SELECT upper($1)::text $$;
                CREATE PROCEDURE carillon.called() LANGUAGE plpgsql AS
                $$ DECLARE a pg_catalog.text; b text; BEGIN PERFORM date 'today', 'the '; END $$;
                GRANT EXECUTE ON PROCEDURE carillon.called TO carillon_worker
                """
            )
            #expect(
                try await database.rows(Self.unqualified).sorted() == [
                    "(called,date)", "(called,text)", "(part,text)", "(part,upper)", "(wrong,apps)", "(wrong,lower)",
                ]
            )
        }
    }
}
