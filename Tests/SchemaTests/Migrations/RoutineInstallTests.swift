import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonSchema

/// Functions, views and rights that differ from one release to the next.
@Suite struct RoutineInstallTests {
    /// A database with the schema of this release, and a migrator for other releases.
    private static func upgrading(
        _ body:
            @Sendable (
                _ database: TestDatabase,
                _ up: @Sendable (Routines) async throws -> [SchemaChange]
            ) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.schema) { database in
            try await body(database) { routines in
                var changes: [SchemaChange] = []
                _ = try await Migrator(database.connection, routines).up { changes.append($0) }
                return changes
            }
        }
    }

    private static let function = """
        CREATE OR REPLACE FUNCTION carillon.more(one integer) RETURNS integer LANGUAGE sql AS $$ SELECT one $$;
        COMMENT ON FUNCTION carillon.more IS 'more';

        """

    private static let view = "CREATE OR REPLACE VIEW carillon.wide AS SELECT 1 AS one;\n"

    /// Which a failed upgrade must not change.
    private static func everything(_ database: TestDatabase) async throws -> [String] {
        try await SchemaFingerprint.read(database.connection)
            + (try await database.rows("SELECT * FROM carillon.schema_routines ORDER BY 1"))
    }

    @Test func `a function of an older release is dropped, and its trigger and view, and each is named`() async throws {
        try await Self.upgrading { database, up async throws in
            let fresh = try await SchemaFingerprint.read(database.connection)
            let before = try await up(
                .release(
                    "0.2.0",
                    Self.function
                        + """
                        CREATE OR REPLACE FUNCTION carillon.fired() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
                        CREATE OR REPLACE TRIGGER fired AFTER INSERT ON carillon.apps FOR EACH ROW EXECUTE FUNCTION carillon.fired();

                        """,
                    view: Self.view
                )
            )
            #expect(before == [.routines(Release("0.2.0"), dropped: [])])
            #expect(try await database.value("SELECT one FROM carillon.wide") == "1")
            let after = try await up(.release("0.3.0"))
            #expect(
                after == [
                    .routines(
                        Release("0.3.0"),
                        dropped: ["carillon.wide", "carillon.fired()", "carillon.more(integer)"]
                    )
                ]
            )
            #expect(try await SchemaFingerprint.read(database.connection) == fresh)
        }
    }

    @Test func `functions of others, of extensions and the one of carillon_reaper stay`() async throws {
        try await Self.upgrading { database, up async throws in
            let other = "other_\(database.connection.backendProcessID)"
            try await database.run(
                """
                CREATE ROLE \(other);
                CREATE FUNCTION carillon.theirs() RETURNS int LANGUAGE sql AS 'SELECT 1';
                GRANT CREATE ON SCHEMA carillon TO \(other);
                ALTER FUNCTION carillon.theirs OWNER TO \(other);
                CREATE FUNCTION carillon.extended() RETURNS int LANGUAGE sql AS 'SELECT 2';
                ALTER EXTENSION plpgsql ADD FUNCTION carillon.extended();
                ALTER FUNCTION carillon.as_reaper OWNER TO CURRENT_USER
                """
            )
            try await attempt { () async throws in
                #expect(try await up(.release("0.2.0")) == [.routines(Release("0.2.0"), dropped: [])])
                let names = "SELECT count(*) FROM pg_proc WHERE proname IN ('theirs', 'extended', 'as_reaper')"
                #expect(try await database.value(names) == "3")
                #expect(
                    try await database.value("has_function_privilege('public', 'carillon.theirs()', 'EXECUTE')")
                        == "true"
                )
            } finally: {
                try await database.run("DROP OWNED BY \(other); DROP ROLE \(other)")
            }
        }
    }

    @Test(arguments: ["carillon.more(1)", "one FROM carillon.wide"])
    func `a user's view on what is dropped stops the upgrade, is named, and nothing is changed`(_ what: String)
        async throws
    {
        try await Self.upgrading { database, up async throws in
            _ = try await up(.release("0.2.0", Self.function, view: Self.view))
            try await database.run("CREATE VIEW public.weekly_report AS SELECT \(what)")
            let before = try await Self.everything(database)
            let error = await #expect(throws: SchemaError.self) { _ = try await up(.release("0.3.0")) }
            #expect(error?.code == .failed)
            #expect(error?.message.contains("view weekly_report depends on") == true, "\(error?.message ?? "")")
            #expect(try await Self.everything(database) == before)
            try await database.run("DROP VIEW public.weekly_report")
            #expect(try await up(.release("0.3.0")).count == 1)
        }
    }

    @Test func `bodies that do not fit the schema are all named, and nothing is changed`() async throws {
        try await Self.upgrading { database, up async throws in
            let before = try await Self.everything(database)
            let faulty = """
                CREATE OR REPLACE FUNCTION carillon.misspelt() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETRUN 1; END $$;
                CREATE OR REPLACE FUNCTION carillon.missing() RETURNS text LANGUAGE sql AS $$ SELECT a.nothing FROM carillon.apps a $$;

                """
            let error = await #expect(throws: SchemaError.self) { _ = try await up(.release("0.2.0", faulty)) }
            #expect(error?.code == .invalid)
            for fault in ["carillon.misspelt(): syntax error", "carillon.missing(): column a.nothing does not exist"] {
                #expect(error?.message.contains(fault) == true, "\(error?.message ?? "")")
            }
            #expect(try await Self.everything(database) == before)
        }
    }

    @Test func `a new argument replaces the function, and statements prepared before continue`() async throws {
        try await Self.upgrading { database, up async throws in
            _ = try await up(.release("0.2.0", Self.function))
            try await database.session { worker async throws in
                let statement = Statement("old", "SELECT carillon.more(one => 1)")
                #expect(try await worker.connection.query(statement) { try $0.int32(0, 0) } == 1)
                let wider = """
                    CREATE OR REPLACE FUNCTION carillon.more(one integer, two integer DEFAULT 2) RETURNS integer LANGUAGE sql
                    AS $$ SELECT one + two $$;
                    COMMENT ON FUNCTION carillon.more IS 'even more';

                    """
                #expect(
                    try await up(.release("0.3.0", wider)) == [
                        .routines(Release("0.3.0"), dropped: ["carillon.more(integer)"])
                    ]
                )
                #expect(try await worker.connection.query(statement) { try $0.int32(0, 0) } == 3)
                #expect(try await database.value("obj_description('carillon.more'::regproc)") == "even more")
            }
        }
    }

    @Test func `a right that a release no longer grants is revoked`() async throws {
        try await Self.upgrading { database, up async throws in
            let fresh = try await SchemaFingerprint.read(database.connection)
            try await database.run(
                """
                GRANT DELETE, UPDATE (sent) ON carillon.results TO carillon_app;
                GRANT EXECUTE ON FUNCTION carillon.settle TO carillon_reader;
                GRANT USAGE ON SEQUENCE carillon.messages_id_seq TO carillon_reader
                """
            )
            _ = try await up(.release("0.2.0"))
            #expect(try await SchemaFingerprint.read(database.connection) == fresh)
        }
    }

    @Test func `files that psql has applied are applied again and recorded`() async throws {
        try await TestDatabase.with(.nothing) { database in
            try await database.run("SET check_function_bodies = off")
            for text in Migration.all.map(\.up) + Routines.current.files.map(\.text) { try await database.run(text) }
            let made = try await SchemaFingerprint.read(database.connection)
            let unready = await #expect(throws: SchemaError.self) { try await SchemaCheck.run(on: database.connection) }
            #expect(unready?.code == .outdated)
            var changes: [SchemaChange] = []
            #expect(try await Migrator(database.connection).up { changes.append($0) }.isEmpty)
            #expect(
                changes == [.routines(.current, dropped: [])]
                    + Routines.current.views.map { SchemaChange.view($0.name) }
            )
            try await SchemaCheck.run(on: database.connection)
            #expect(try await SchemaFingerprint.read(database.connection) == made)
            #expect(
                try await database.number("SELECT count(*) FROM carillon.schema_routines WHERE length(checksum) = 64")
                    == Routines.current.files.count
            )
        }
    }

    @Test func `an older program leaves a newer set as it is, and does not start with it`() async throws {
        try await Self.upgrading { database, up async throws in
            _ = try await up(.release("999.0.0", Self.function))
            let before = try await Self.everything(database)
            let migrator = Migrator(database.connection)
            for attempt in [
                { try await SchemaCheck.run(on: database.connection) }, { _ = try await migrator.up() },
                { _ = try await migrator.down() },
            ] as [@Sendable () async throws -> Void] {
                let error = await #expect(throws: SchemaError.self) { try await attempt() }
                #expect(error?.code == .newer)
                #expect(error?.message.contains("999.0.0") == true)
            }
            #expect(try await migrator.routineStatus().condition == .unknown)
            #expect(try await Self.everything(database) == before)
            // The way back: the newer program drops its own, the older one applies its own.
            let newer = Migrator(database.connection, .release("999.0.0", Self.function))
            #expect(try await newer.down(to: Migration.latest).isEmpty)
            #expect(try await migrator.routineStatus().condition == .pending)
            #expect(try await migrator.up().isEmpty)
            try await SchemaCheck.run(on: database.connection)
        }
    }

    @Test func `a view is replaced once nobody reads it, and those who come then do not wait`() async throws {
        try await Self.upgrading { database, up async throws in
            _ = try await up(.release("0.2.0", view: Self.view))
            try await TestLoop.with { loop in
                try await database.session { reader async throws in
                    try await reader.run("BEGIN; SELECT one FROM carillon.wide")
                    async let changes = up(
                        .release("0.2.0", view: "CREATE OR REPLACE VIEW carillon.wide AS SELECT 1 AS one, 2 AS two;\n")
                    )
                    try await loop.eventually("it waits for the reader") {
                        try await reader.value(
                            """
                            SELECT count(*) FROM pg_locks l WHERE NOT l.granted AND l.relation = 'carillon.wide'::regclass
                                AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                            """
                        ) == "1"
                    }
                    try await reader.session { other async throws in
                        #expect(try await other.value("SELECT one FROM carillon.wide") == "1")
                    }
                    try await reader.run("COMMIT")
                    #expect(try await changes == [.view("wide")])
                }
            }
            #expect(try await database.value("SELECT two FROM carillon.wide") == "2")
        }
    }
}

extension Routines {
    /// The files of this release and further ones.
    static func release(_ release: String, _ functions: String? = nil, view: String? = nil) -> Routines {
        Routines(
            of: Release(release),
            functions: current.functions + (functions.map { [File("functions/more.sql", $0)] } ?? []),
            views: current.views + (view.map { [File("views/wide.sql", $0)] } ?? []),
            // A comment is enough to make it another file.
            rights: File("rights.sql", current.rights.text + "-- \(release)\n")
        )
    }

    /// A release whose functions have other bodies, and whose views have another text.
    static func rewritten(_ release: String) -> Routines {
        Routines(
            of: Release(release),
            functions: current.functions.map {
                File($0.path, $0.text.replacing(" AS $$\n", with: " AS $$\n-- \(release)\n"))
            },
            views: current.views.map { File($0.path, $0.text + "-- \(release)\n") },
            rights: current.rights
        )
    }
}
