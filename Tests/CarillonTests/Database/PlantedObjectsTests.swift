import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// Objects that others have created where names without a schema are looked up. None may run with the rights of the program.
@Suite(.shop) struct PlantedObjectsTests {
    /// A function, an operator and a type for nearly each of PostgreSQL's own, and a table for each of its catalogs and of ours, in
    /// a schema that is searched before all others. Whatever is used says so, and fails.
    private static let plants = """
        CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;
        CREATE SEQUENCE evil.stolen; GRANT ALL ON SEQUENCE evil.stolen TO PUBLIC;
        CREATE FUNCTION evil.trip(what pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
            PERFORM pg_catalog.nextval('evil.stolen');
            RAISE EXCEPTION 'planted: %', what;
        END $$;
        DO $$ DECLARE one record; BEGIN
            FOR one IN SELECT DISTINCT ON (name, arguments) p.proname AS name, a.arguments, r.typname AS result, p.proretset AS is_set
                FROM pg_proc p JOIN pg_type r ON r.oid = p.prorettype CROSS JOIN LATERAL (
                    SELECT coalesce(string_agg(format('pg_catalog.%I', t.typname), ', ' ORDER BY u.place), '') AS arguments,
                        coalesce(bool_and(t.typtype <> 'p'), true) AS is_usable
                    FROM unnest(p.proargtypes) WITH ORDINALITY u(type, place) JOIN pg_type t ON t.oid = u.type) a
                WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND a.is_usable AND r.typtype <> 'p'
            LOOP
                EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s pg_catalog.%I LANGUAGE plpgsql AS %L', one.name,
                    one.arguments, CASE WHEN one.is_set THEN 'SETOF' ELSE '' END, one.result,
                    format('BEGIN PERFORM evil.trip(%L); END', one.name));
            END LOOP;
            FOR one IN SELECT o.oprname AS name, l.typname AS one, r.typname AS other, f.proname AS function
                FROM pg_operator o JOIN pg_type l ON l.oid = o.oprleft JOIN pg_type r ON r.oid = o.oprright
                JOIN pg_proc f ON f.oid = o.oprcode JOIN pg_type t ON t.oid = f.prorettype
                WHERE l.typtype <> 'p' AND r.typtype <> 'p' AND t.typtype <> 'p' AND o.oprnamespace = 'pg_catalog'::regnamespace
                    AND to_regprocedure(format('evil.%I(pg_catalog.%I, pg_catalog.%I)', f.proname, l.typname, r.typname)) IS NOT NULL
            LOOP
                EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.%I, LEFTARG = pg_catalog.%I, RIGHTARG = pg_catalog.%I)',
                    one.name, one.function, one.one, one.other);
            END LOOP;
            FOR one IN SELECT t.typname AS name FROM pg_type t
                WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype = 'b' AND t.typcategory <> 'A'
            LOOP
                EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.%1$I CHECK (evil.trip(%1$L))', one.name);
            END LOOP;
            FOR one IN SELECT c.relname AS name FROM pg_class c WHERE c.relkind IN ('r', 'v', 'p')
                AND c.relnamespace IN ('pg_catalog'::regnamespace, 'carillon'::regnamespace)
            LOOP
                EXECUTE format('CREATE VIEW evil.%I AS SELECT evil.trip(%1$L)', one.name);
            END LOOP;
            EXECUTE format('ALTER DATABASE %I SET search_path = evil, pg_catalog, public', current_database());
        END $$;
        """

    /// Commands with a database that this test does not run: they need a channel service, or end the database. The last two are run
    /// as services.
    private static let others: Set = [
        "channel create", "channel read", "channel remove", "channel sync", "migrate down", "web", "pyapns",
    ]

    private static func commands(_ shop: Shop) throws -> [[String]] {
        let certificate = try shop.folder.write("new.pem", try PyapnsClient.certificate("com.example.new"))
        let tokens = try shop.folder.write("tokens.csv", "token\n\(Shop.token("cc"))\n")
        let text = ["--alert", "hi", "--wait", "0s"]
        return [
            ["migrate", "status"], ["migrate", "up"], ["adopt"],
            ["credential", "import", "new", "--file", certificate],
            ["credential", "list"], ["credential", "check", "new"],
            ["app", "add", "new", "--credential", "new", "--topic", "com.example.new"],
            ["app", "set", "new", "--max-rate", "10"], ["app", "list"], ["app", "show", "new"],
            ["app", "pause", "new"],
            ["app", "resume", "new"], ["tokens", "import", "--app", "new", tokens],
            ["send", "--app", "new", "--token", Shop.token("aa")] + text, ["broadcast", "--app", "new"] + text,
            ["channel", "list"], ["message", "show", "1"], ["message", "cancel", "1"], ["message", "cancel", "2"],
            ["failures", "list"], ["failures", "requeue", "--app", "new", "--dry-run"], ["feedback", "--dry-run"],
            ["feedback", "--once"], ["status"], ["check"], ["worker", "--once"], ["app", "remove", "new", "--yes"],
            ["credential", "remove", "new"],
        ]
    }

    @Test func `the commands with a database are known here`() async throws {
        let all = Command.all.filter { $0.allOptions.contains { $0.flag == Option.database.flag } }
        let run = try Self.commands(shop).map { words in
            all.map { $0.words.joined(separator: " ") }.first { words.joined(separator: " ").hasPrefix($0) }
        }
        let left = Set(all.map { $0.words.joined(separator: " ") }).subtracting(run.compactMap(\.self))
        #expect(left == Self.others)
    }

    @Test(.timeLimit(.minutes(5))) func `no command uses an object that others have planted`() async throws {
        try await shop.database.run(Self.plants)
        let used = "SELECT s.is_called FROM evil.stolen s"
        try await shop.database.session { watcher in
            try await watcher.run("SET search_path = pg_catalog")
            for words in try Self.commands(shop) {
                let run = try await shop.run(words)
                #expect(!run.errors.contains("lanted: "), "\(words): \(run.errors)")
                // Some find something to complain about, such as that no worker runs, but all find what they ask for.
                #expect([0, 1, 69, 75].contains(run.status), "\(words): \(run.errors)")
                #expect(try await watcher.value(used) == "false", "\(words)")
                try await watcher.run("SELECT pg_catalog.setval('evil.stolen', 1, false)")
            }
            try await DashboardClient.with(shop.database.url, in: shop.folder) { dashboard, _ in
                for path in DashboardClient.pages + ["/apps/shop", "/messages/1"] {
                    let page = await dashboard.get(path).body
                    #expect(!page.isEmpty && !page.contains("lanted: "), "\(path): \(page)")
                }
            }
            try await PyapnsClient.with(shop.database.url, in: shop.folder) { client, _, _ in
                #expect(await client.call("notify", "shop", Shop.token("dd"), PyapnsClient.hello("1")).isNothing)
                #expect(!(await client.call("feedback", "shop").contains("lanted: ")))
            }
            #expect(try await watcher.value(used) == "false")
            // Without the settings of its session, each of them would.
            try await shop.database.session { victim async throws in
                _ = await #expect(throws: (any Error).self) { try await victim.run("SELECT now()") }
            }
            #expect(try await watcher.value(used) == "true")
        }
    }
}
