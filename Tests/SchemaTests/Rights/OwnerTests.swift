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
            let refused = await owner.refusal(of: "SELECT carillon.isolate_app('beta', '\(web)')")
            let hint = try #require(refused?.hint)
            let command = try #require(
                hint.firstMatch(of: /^Have a superuser, or .*, run: (GRANT carillon_tenant TO owner_.*)/)
            )
            try await above.run(String(command.output.1))
            try await owner.run("SELECT carillon.isolate_app('beta', '\(web)')")
            try await owner.run("SELECT carillon.unisolate_app('beta', '\(web)')")
        }
    }

    @Test func `another owner that cannot upgrade is told which right is missing`() async throws {
        try await Self.owned(granting: Self.needed) { above, _, web async throws in
            try await above.run(
                """
                DO $$ BEGIN EXECUTE (SELECT format('REASSIGN OWNED BY %I TO \(web)', pg_get_userbyid(n.nspowner))
                    FROM pg_namespace n WHERE n.nspname = 'carillon'); END $$;
                DELETE FROM carillon.schema_routines
                """
            )
            try await above.session(as: web) { other async throws in
                let migrator = Migrator(other.connection)
                let refused = await #expect(throws: SchemaError.self) { try await migrator.up() }
                let message = try #require(refused?.message)
                let command = try #require(message.firstMatch(of: /run: (GRANT carillon_reaper TO web_.*)/))
                try await above.run(String(command.output.1))
                _ = try await migrator.up()
            }
        }
    }

    /// What anybody but its owner may do with each object of the schema.
    private static let rights = """
        SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
            SELECT o.name || ' ' || g.privilege_type || ': ' || string_agg(coalesce(r.rolname, 'PUBLIC'), ', ' ORDER BY r.rolname)
            FROM (
                SELECT c.oid::regclass::text, c.relowner, c.relacl FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace
                UNION ALL
                SELECT c.oid::regclass::text || '.' || a.attname, c.relowner, a.attacl FROM pg_class c
                    JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = 'carillon'::regnamespace
                UNION ALL
                SELECT p.oid::regprocedure::text, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner)) FROM pg_proc p
                WHERE p.pronamespace = 'carillon'::regnamespace
            ) o (name, owner, acl) CROSS JOIN LATERAL aclexplode(o.acl) g LEFT JOIN pg_roles r ON r.oid = g.grantee
            WHERE g.grantee <> o.owner GROUP BY o.name, g.privilege_type
        ) l (line)
        """

    @Test(arguments: [true, false])
    func `the way down takes back all rights, even if it undoes no migration, and none of what others own`(
        _ isOwner: Bool
    ) async throws {
        try await Self.owned(granting: Self.needed) { above, owner, web async throws in
            // A right that was granted by hand goes, too.
            try await owner.run(
                "GRANT CREATE, USAGE ON SCHEMA carillon TO \(web); GRANT DELETE ON carillon.results TO carillon_reader"
            )
            try await above.session(as: web) { other async throws in
                try await other.run(
                    """
                    CREATE TABLE carillon.theirs (id int);
                    GRANT SELECT ON carillon.theirs TO carillon_app;
                    CREATE FUNCTION carillon.as_reaper(id int) RETURNS int LANGUAGE sql AS 'SELECT 1';
                    ALTER DEFAULT PRIVILEGES IN SCHEMA carillon GRANT SELECT ON TABLES TO carillon_reader
                    """
                )
            }
            let before = try await owner.value(Self.rights)
            #expect(before?.contains("carillon.results DELETE: carillon_reader") == true, "\(before ?? "")")
            // These tables say which migration is missing.
            let all = "carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker"
            let migrator = Migrator((isOwner ? owner : above).connection)
            for version in [Migration.latest, 7, 6] {
                _ = try await migrator.down(to: version)
                #expect(
                    try await owner.value(Self.rights) == """
                        carillon.as_reaper(integer) EXECUTE: PUBLIC
                        carillon.schema_migrations SELECT: \(all)
                        carillon.schema_routines SELECT: \(all)
                        carillon.theirs SELECT: carillon_app
                        """,
                    "down to \(version)"
                )
            }
            #expect(try await above.number("SELECT count(*) FROM pg_default_acl") == 1)
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
            let refused = await owner.refusal(of: "SELECT carillon.isolate_app('beta', '\(web)')")
            #expect(refused?.message.contains("sees all apps") == true)
        }
    }
}
