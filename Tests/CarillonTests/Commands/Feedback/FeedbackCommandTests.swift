import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import Glibc
import TestSupport
import Testing

/// `carillon feedback`, as a user or cron runs it.
@Suite struct FeedbackCommandTests {
    private static let setUp = """
        INSERT INTO carillon.apps (name) VALUES ('shop'), ('news');
        INSERT INTO carillon.tokens
        SELECT 1, lpad(to_hex(i), 8, '0'), '2020-01-01Z' FROM generate_series(1, 1500) i;
        CREATE TABLE devices AS SELECT token, last_update AS seen FROM carillon.tokens LIMIT 40;
        GRANT SELECT, DELETE ON devices TO carillon_reaper;
        SELECT carillon.watch_tokens('shop', 'devices', 'token', 'seen');
        INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT 1, token, '2020-01-02Z' FROM carillon.tokens
        """

    private static func with(
        _ body: (PostgresConnection, _ run: (String...) async throws -> ProgramRun, _ url: String)
            async throws -> Void
    ) async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            _ = try await Migrator(connection).up()
            try await connection.script(Self.setUp)
            try await body(
                connection,
                { (words: String...) in
                    let environment = ["DATABASE_URL": TestLogin.worker.url(url)]
                    return try await ProgramRun.run(["feedback"] + words, environment: environment)
                },
                url
            )
        }
    }

    @Test func `a dry run says what would go, table by table, and changes nothing`() async throws {
        try await Self.with { _, run, _ in
            for _ in 0..<2 {
                let dry = try await run("--dry-run")
                #expect(dry.status == 0)
                let lines = dry.output.split(separator: "\n").map {
                    $0.split(separator: " ").joined(separator: " ")
                }
                #expect(
                    lines == [
                        "APP TABLE DEAD TOKENS", "news carillon.tokens 0", "shop carillon.tokens 1,500",
                        "shop public.devices 40",
                    ]
                )
            }
            let json = try await run("--dry-run", "--app", "shop", "--json")
            #expect(
                json.output == """
                    [{"app":"shop","table":"carillon.tokens","tokens":1500,"error":null},\
                    {"app":"shop","table":"public.devices","tokens":40,"error":null}]

                    """
            )
        }
    }

    @Test func `a pass deletes what is dead, and says how much`() async throws {
        try await Self.with { _, run, _ in
            let pass = try await run("--once")
            #expect(pass.status == 0)
            #expect(pass.output == "Deleted 1,540 tokens (shop: 1,540); handled 1,500 rows of feedback.\n")
            let json = try await run("--once", "--json", "--app", "news")
            #expect(
                json.status == 0
                    && json.output.hasPrefix(#"{"reaped":0,"by_app":{},"feedback":0,"errors":[],"#)
            )
        }
    }

    @Test func `a table that cannot be reaped is named, and the status says so`() async throws {
        try await Self.with { connection, run, _ in
            try await connection.script("ALTER TABLE devices ALTER seen TYPE timestamp")
            let dry = try await run("--dry-run")
            #expect(dry.status == 1)
            #expect(dry.errors.contains("public.devices cannot be reaped") && dry.errors.contains("timestamptz"))
            let pass = try await run("--once")
            #expect(pass.status == 1)
            #expect(pass.output.hasPrefix("Deleted 1,500 tokens"))
            #expect(pass.errors.contains("public.devices: ") && pass.errors.contains("timestamptz"))
        }
    }

    @Test func `why an app is paused is told by its list and by the status`() async throws {
        try await Self.with { connection, _, url in
            try await connection.script(
                """
                INSERT INTO carillon.push_counts (minute, app_id, worker_id, failed, bad_tokens) VALUES (now(), 1, 1, 500, 500);
                SELECT * FROM carillon.open_breakers('{1,2}')
                """
            )
            let environment = ["DATABASE_URL": url]
            let list = try await ProgramRun.run(["app", "list"], environment: environment)
            #expect(list.output.contains("shop is paused: 500 of 500 pushes within a minute failed as BadDeviceToken"))
            #expect(!list.output.contains("news is paused"))
            let status = try await ProgramRun.run(["status"], environment: environment)
            #expect(status.output.contains("carillon app resume shop"))
            #expect(try await ProgramRun.run(["app", "resume", "shop"], environment: environment).status == 0)
            let json = try await ProgramRun.run(["app", "list", "--json"], environment: environment)
            #expect(!json.output.contains("BadDeviceToken") && json.output.contains(#""reap_bad_tokens":false"#))
        }
    }

    @Test func `options that make no sense and unknown apps are refused`() async throws {
        try await Self.with { _, run, _ in
            #expect(try await run("--app", "shop").status == 2)
            #expect(try await run("--feedback-interval", "0s").status == 2)
            let unknown = try await run("--once", "--app", "nope")
            #expect(unknown.status == 1 && unknown.errors.contains("nope"))
        }
    }

    @Test func `without --once it runs passes when they are due, until it is told to stop`() async throws {
        try await Self.with { connection, _, url in
            try await TemporaryFolder.with { folder in
                let program = try BackgroundProgram(
                    ["feedback", "--feedback-interval", "200ms"],
                    environment: ["DATABASE_URL": TestLogin.worker.url(url)],
                    in: folder
                )
                for _ in 0..<2 {
                    try await TestLoop.shared.eventually("the dead tokens are deleted") {
                        try await connection.isEmpty("carillon.tokens")
                    }
                    try await connection.script(
                        """
                        INSERT INTO carillon.tokens VALUES (2, 'aa', '2020-01-01Z');
                        INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (2, 'aa', now())
                        """
                    )
                }
                _ = try await program.line(containing: "Reaped dead tokens.", on: TestLoop.shared)
                // 75: it was interrupted in a pass, which begin five times a second here.
                let end = try await program.end(by: SIGTERM, on: TestLoop.shared)
                #expect(end == .status(0) || end == .status(75))
            }
        }
    }

    /// The database behind a URL may be replaced by a copy while the command waits for the next pass.
    @Test func `without --once it begins no pass in a database that has become a copy`() async throws {
        try await Self.with { connection, _, url in
            try await TemporaryFolder.with { folder in
                let program = try BackgroundProgram(
                    ["feedback", "--feedback-interval", "1h"],
                    environment: ["DATABASE_URL": TestLogin.worker.url(url)],
                    in: folder
                )
                // After a whole pass. The next one is due in an hour, or when the row says so.
                _ = try await program.line(containing: "Reaped dead tokens.", on: TestLoop.shared)
                try await connection.script(
                    """
                    UPDATE carillon.installation SET database_oid = database_oid + 1;
                    INSERT INTO carillon.tokens VALUES (2, 'aa', '2020-01-01Z');
                    INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (2, 'aa', now());
                    UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'feedback'
                    """
                )
                _ = try await program.line(containing: "this database is a copy", on: TestLoop.shared)
                #expect(try await program.end(on: TestLoop.shared) == .status(78), "\(program.said)")
                #expect(try await connection.isEmpty("carillon.tokens") == false)
            }
        }
    }

    /// What a trigger leaves in its session, nobody else finds there.
    @Test(arguments: ["feedback", "worker"])
    func `each pass has a session of its own, which ends with it`(command: String) async throws {
        try await Self.with { connection, _, url in
            try await connection.script(
                """
                CREATE TABLE passes (process int);
                GRANT INSERT ON passes TO carillon_reaper;
                CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN INSERT INTO passes VALUES (pg_backend_pid()); RETURN OLD; END $$;
                CREATE TRIGGER note BEFORE DELETE ON devices FOR EACH ROW EXECUTE FUNCTION note()
                """
            )
            try await TemporaryFolder.with { folder in
                let program = try BackgroundProgram(
                    [command, "--feedback-interval", "200ms"],
                    environment: ["DATABASE_URL": TestLogin.worker.url(url)],
                    in: folder
                )
                try await TestLoop.shared.eventually("the session that deleted is over") {
                    try await connection.query(
                        Statement(
                            "ended",
                            """
                            SELECT EXISTS (SELECT FROM passes) AND NOT EXISTS (
                                SELECT FROM pg_stat_activity a JOIN passes p ON p.process = a.pid)
                            """
                        )
                    ) { try $0.bool(0, 0) }
                }
                // The program went on until now. 75: a pass was interrupted.
                let end = try await program.end(by: SIGTERM, on: TestLoop.shared)
                #expect(end == .status(0) || end == .status(75), "\(program.said)")
            }
        }
    }
}

extension PostgresConnection {
    fileprivate func isEmpty(_ table: String) async throws -> Bool {
        try await query(Statement("is_empty", "SELECT count(*) = 0 FROM \(table)")) { try $0.bool(0, 0) }
    }
}
