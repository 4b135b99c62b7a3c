import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Runs every command of docs/backup.md, one after the other, from one server to another.
@Suite struct BackupPageTests {
    /// What the page says, and what is run in its place.
    private static let replacements = [
        (
            "'postgresql://db1/shop?options=-ccarillon.installation%3Dproduction'",
            "\"$DATABASE_COPY&options=-ccarillon.installation%3Dproduction\""
        ),
        ("carillon check\ncarillon adopt", "carillon check || true\ncarillon adopt"),
        // The other way to restore the dump.
        ("psql --quiet \"$DATABASE_COPY\"", "psql --quiet \"$PLAIN_COPY\""),
    ]

    /// The page's commands as one script, or those of the blocks with a text. Text of SQL goes through psql.
    static func commands(with part: String = "") throws -> String {
        let blocks = try GeneratedPage("docs/backup.md").text.matches(of: #/```(sh|sql)\n([^`]*)```/#)
        let chosen = blocks.filter { part.isEmpty || $0.output.2.contains(part) }
        try #require(!chosen.isEmpty, "no command with \(part)")
        return chosen.map { block in
            var text = String(block.output.2)
            for (said, run) in Self.replacements { text.replace(said, with: run) }
            return block.output.1 == "sh"
                ? text : "psql --quiet --set ON_ERROR_STOP=1 \"$DATABASE_URL\" <<'SQL'\n\(text)SQL\n"
        }.joined()
    }

    /// Where the page says that it is so, the owner of the schema gets an error, and may take no base backup.
    private static let differencesForOwner = """
        pg_restore() {
            if [ "$1" != --dbname ]; then command pg_restore "$@"; return; fi
            if command pg_restore "$@" 2> errors; then echo 'pg_restore had no error'; exit 1; fi
            grep 'permission denied for schema carillon' errors && grep 'errors ignored on restore: 1$' errors
        }
        pg_basebackup() { echo 'needs the attribute REPLICATION'; }

        """

    /// More databases on the other server, besides `shop`.
    private static let others = ["plain", "ownerless", "bare", "second"]

    private static let creation = Self.others.map { "createdb --maintenance-db \"$OTHER_SERVER\" \($0)\n" }.joined()

    /// What the page says of dumps and restores of other kinds. The schema alone, restored into a database that has the watched
    /// table, watches it.
    private static func otherKinds() throws -> String {
        let mended = try Self.commands(with: "ALTER FUNCTION carillon.as_reaper")
        return """
            ask() { psql --quiet --tuples-only --no-align --command "$1" "$2"; }
            if pg_restore --file - plain.dump | grep '^ALTER TABLE .* SET COMPRESSION'; then exit 1; fi
            ask "SELECT 'plain has ' || (SELECT count(*) FROM carillon.messages) || ' messages' FROM pg_attribute
                WHERE attrelid = 'carillon.inflight'::regclass AND attname = 'jobs' AND attcompression = ''" "$PLAIN_COPY"

            pg_restore --no-owner --dbname "$OWNERLESS_COPY" shop.dump
            export DATABASE_URL="$OWNERLESS_COPY"
            { carillon check || true; } | grep "as_reaper belongs to $OWNER"
            \(mended)
            { carillon check || true; } | grep '^ok  *reaper'

            { command pg_restore --dbname "$BARE_COPY" carillon.dump 2>&1 || true; } |
                grep 'relation "public.devices" does not exist'
            ask "SELECT 'bare watches ' || count(*) FROM carillon.watched_tables" "$BARE_COPY"

            psql --quiet --command 'CREATE TABLE devices (token text, seen timestamptz)' "$SECOND_COPY"
            pg_restore --dbname "$SECOND_COPY" carillon.dump
            ask 'SELECT relation FROM carillon.watched_tables' "$SECOND_COPY"
            """
    }

    @Test(arguments: ["postgres", "admin"])
    func `every command of the page on backups does what the page says, with and without a superuser`(owner: String)
        async throws
    {
        try await TemporaryFolder.with { folder in
            let original = try await PrivateCluster.start(.fast, on: TestLoop.shared)
            let other = try await PrivateCluster.start(.fast, on: TestLoop.shared)
            try await attempt {
                for cluster in [original, other] {
                    try await Self.run("CREATE ROLE admin LOGIN CREATEROLE CREATEDB", on: cluster.url())
                }
                try await Self.run("CREATE DATABASE shop OWNER \(owner)", on: original.url())
                func url(_ cluster: PrivateCluster, _ database: String) -> String {
                    cluster.url(database: database).replacing("user=postgres", with: "user=\(owner)")
                }
                try await TestDatabase.migrate(url(original, "shop"))
                try await Self.fill(url(original, "shop"))
                _ = try folder.write("ca.pem", try ServerCertificate().rootPEM)
                var environment = [
                    "DATABASE_URL": url(original, "shop"), "OTHER_SERVER": url(other, "postgres"),
                    "DATABASE_COPY": url(other, "shop"), "OWNER": owner,
                ]
                for name in Self.others { environment["\(name.uppercased())_COPY"] = url(other, name) }
                let differences = owner == "postgres" ? "" : Self.differencesForOwner
                let said = try await Self.bash(
                    differences + Self.creation + Self.commands() + Self.otherKinds(),
                    in: folder,
                    environment
                )
                #expect(said.hasSuffix("devices\n"), "\(said)")
                #expect(said.contains("plain has 3 messages\n") && said.contains("bare watches 0\n"), "\(said)")
                #expect(said.contains("role \"postgres\" already exists"), "\(said)")
                #expect(said.contains("must be superuser to alter superuser roles") == (owner == "admin"), "\(said)")
                #expect(said.contains("this database is a copy") && said.contains("Here wait 3 ready jobs"), "\(said)")
                #expect(said.contains("as_reaper belongs to admin") == (owner == "admin"), "\(said)")
                let named = url(other, "shop") + "&options=-ccarillon.installation%3Dproduction"
                let check = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": named]).output
                for line in ["installation", "roles", "grants", "reaper", "isolation"] {
                    #expect(check.contains("ok       \(line)"), "\(check)")
                }
                let connection = try await PostgresConnection.connect(named)
                // What workers had claimed is among what expires.
                let state = """
                    SELECT (SELECT relation::text FROM carillon.watched_tables) || ' ' || a.gateway || ' ' || a.paused || ' '
                        || (SELECT count(*) FROM carillon.inflight)
                        || (SELECT ' ' || r.rolcanlogin FROM pg_roles r WHERE r.rolname = 'acme_web')
                    FROM carillon.apps a WHERE a.name = 'acme'
                    """
                try await attempt {
                    let text = try await connection.query(state, Parameters()) { try $0.string(0, 0) }
                    #expect(text == "devices localhost:2197 false 0 true")
                } finally: {
                    await connection.close()
                }
            } finally: {
                await original.stop()
                await other.stop()
            }
        }
    }

    @Test func `for a server without LZ4, the page removes only the compression of columns from a dump`() async throws {
        let page = try GeneratedPage("docs/backup.md").text
        let edit = try #require(page.firstMatch(of: #/sed '([^']+)'/#)).output.1
        try await TestDatabase.with(.schema) { database in
            try await TemporaryFolder.with { folder in
                let said = try await Self.bash(
                    """
                    pg_dump --schema-only "$DATABASE_URL" > dump.sql
                    grep '^ALTER TABLE .* SET COMPRESSION' dump.sql > expected || true
                    sed '\(edit)' dump.sql > edited.sql
                    { diff dump.sql edited.sql || true; } | sed -n 's/^< //p' | diff - expected
                    echo same
                    """,
                    in: folder,
                    ["DATABASE_URL": database.url]
                )
                #expect(said == "same\n")
            }
        }
    }

    private static func fill(_ url: String) async throws {
        try await APNsSimulator.with { simulator in
            let connection = try await PostgresConnection.connect(url)
            try await attempt {
                for name in ["acme", "local"] {
                    try await connection.addApp(name, topic: "com.example.\(name)", to: simulator)
                }
                try await connection.script(
                    """
                    CREATE ROLE acme_web LOGIN;
                    SELECT carillon.isolate_app('acme', 'acme_web');
                    CREATE TABLE devices (token text, seen timestamptz);
                    GRANT SELECT, DELETE ON devices TO carillon_reaper;
                    SELECT carillon.watch_tokens('acme', 'devices', 'token', 'seen');
                    INSERT INTO carillon.messages (app_id, tokens, payload)
                    SELECT 1, ARRAY[lpad(to_hex(n), 64, '0')], '{"aps":{"alert":"hi"}}' FROM generate_series(1, 5) n;
                    WITH gone AS (DELETE FROM carillon.messages WHERE id <= 2 RETURNING *)
                    INSERT INTO carillon.inflight (id, worker_id, app_id, jobs)
                    SELECT 5, 77, 1, array_agg(json_populate_record(NULL::carillon.job, to_json(g))) FROM gone g
                    """
                )
            } finally: {
                await connection.close()
            }
        }
    }

    private static func run(_ statement: String, on url: String) async throws {
        let connection = try await PostgresConnection.connect(url)
        try await attempt {
            try await connection.script(statement)
        } finally: {
            await connection.close()
        }
    }

    /// What the script printed, errors included.
    /// - Parameter place: A folder of the user of PostgreSQL's servers, which runs the script there.
    @discardableResult
    static func bash(
        _ script: String,
        in folder: TemporaryFolder,
        _ environment: [String: String],
        asServerIn place: String? = nil
    ) async throws -> String {
        let programs = [try PrivateCluster.program("psql"), try ProgramRun.path].map { path in
            path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
        }
        var command = ChildProcess.Command("/bin/bash", ["-eu", "-o", "pipefail", "-c", "exec 2>&1\n" + script])
        var all = ProgramRun.environment(environment)
        all["PATH"] = (programs + [all["PATH"] ?? "/usr/bin:/bin"]).joined(separator: ":")
        // `carillon adopt` asks.
        all["CARILLON_YES"] = "true"
        command.environment = all
        command.directory = place ?? folder.path
        if place != nil, User.isRoot { command.user = User(named: "postgres") }
        command.output = .file(folder.file("said"))
        let exit = try await TestLoop.with { loop in
            try await ChildProcess(command).wait(on: loop, until: .now + .seconds(120))
        }
        let said = try folder.read("said")
        #expect(exit == .status(0), "\(said)")
        return said
    }
}
