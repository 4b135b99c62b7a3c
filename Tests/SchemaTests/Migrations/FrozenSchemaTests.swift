import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import CarillonSchema

/// Upgrades schemas with rows of every kind: those of released versions, as `migrate up` of theirs left them, and the one of this
/// version with other functions. `make freeze` writes the one of this version, before its tag.
@Suite struct FrozenSchemaTests {
    private static let folder = "Tests/Upgrades/"

    private static let releases: [String] = {
        let files = try? FileManager.default.contentsOfDirectory(atPath: GeneratedPage(folder).file)
        return (files ?? []).filter { $0.hasSuffix(".sql") }.sorted()
    }()

    private static var isWritten: Bool { ProcessInfo.processInfo.environment["FREEZE"] != nil }

    /// One statement a table, and calls: the schema of a release knows what each takes.
    private static let rows = """
        INSERT INTO carillon.certificates (name, certificate) VALUES ('main', 'unread');
        INSERT INTO carillon.apps (name, topic, certificate_id)
        SELECT a.name, 'com.example.' || a.name, c.id FROM carillon.certificates c, unnest('{demo,other}'::text[]) AS a (name);
        SELECT carillon.register_token('demo', repeat('aa', 32));
        SELECT carillon.enqueue('demo', ARRAY[repeat('aa', 32), repeat('ab', 32)], 'ready', reference => 'ready');
        SELECT carillon.enqueue('demo', ARRAY[repeat('aa', 32)], 'later', run_at => now() + interval '1 day', dedupe_key => 'later');
        SELECT carillon.broadcast('demo', 'to all');
        SELECT carillon.update_activity('demo', ARRAY[repeat('ac', 32)], content_state => '{"score": 1}'::jsonb);
        SELECT carillon.request_channel('demo', reference => 'final', policy => 1);
        SELECT carillon.create_api_token('demo', 'shop');
        INSERT INTO carillon.workers (name, lease_until) VALUES ('host:1', now());
        INSERT INTO carillon.inflight (worker_id, app_id, jobs)
        SELECT w.id, a.id, ARRAY[carillon.job(id => 1000, lane => 1::smallint, tokens => '{aa,ab}', payload => '{"aps":{}}')]
        FROM carillon.workers w, carillon.apps a WHERE a.name = 'demo';
        INSERT INTO carillon.results (message_id, app_id, sent) SELECT 1001, a.id, 2 FROM carillon.apps a WHERE a.name = 'demo';
        INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
        SELECT 1002, a.id, 'ab', 410, 'Unregistered' FROM carillon.apps a WHERE a.name = 'demo';
        INSERT INTO carillon.unfinished (app_id, message_id, remaining) SELECT a.id, 1000, 2 FROM carillon.apps a WHERE a.name = 'demo';
        INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT a.id, 'ad', now() FROM carillon.apps a WHERE a.name = 'demo';
        INSERT INTO carillon.holds (app_id, kind, reason) SELECT a.id, 'connection', 'refused' FROM carillon.apps a WHERE a.name = 'other';

        """

    private static func checksums(_ database: TestDatabase) async throws -> String {
        let migrations = try await database.rows("SELECT version, checksum FROM carillon.schema_migrations ORDER BY 1")
        let files = try await database.rows("SELECT file, checksum FROM carillon.schema_routines ORDER BY 1")
        return (migrations + files).map { row in
            let cells = row.dropFirst().dropLast().split(separator: ",")
            let (table, key) = Int(cells[0]) == nil ? ("routines", "file") : ("migrations", "version")
            return "UPDATE carillon.schema_\(table) SET checksum = '\(cells[1])' WHERE \(key) = '\(cells[0])';\n"
        }.joined()
    }

    private static func script() async throws -> String {
        try await TestDatabase.with(.schema) { database in
            try await Migrator.sql() + "\n" + checksums(database) + "\n" + rows
        }
    }

    @Test(.enabled(if: isWritten, "'make freeze' runs it"))
    func `the schema of this version is written`() async throws {
        let head = """
            -- The schema and some rows of \(Release.current), as FrozenSchemaTests upgrades it. `make freeze` has written it before the tag
            -- \(Release.current). Afterwards it is not changed: it is what users have.


            """
        let folder = GeneratedPage(Self.folder).file
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try GeneratedPage("\(Self.folder)\(Release.current).sql").write(head + (try await Self.script()))
    }

    /// Of each table with rows, how many.
    private static func counts(_ database: TestDatabase) async throws -> [String] {
        let tables = try await database.rows(
            """
            SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p')
                AND NOT c.relispartition AND c.relname NOT LIKE 'schema%'
            """
        ).map { String($0.dropFirst().dropLast()) }
        var counts: [String] = []
        for table in tables.sorted() {
            let count = try await database.number("SELECT count(*) FROM carillon.\(table)")
            if count > 0 { counts.append("\(table): \(count)") }
        }
        return counts
    }

    /// Upgrades what a schema was made as, and expects a new installation with the same rows.
    private static func expectUpgrade(from make: (TestDatabase) async throws -> Void) async throws {
        let fresh = try await TestDatabase.with(.schema) { try await SchemaFingerprint.read($0.connection) }
        try await TestDatabase.with(.nothing) { database in
            try await make(database)
            let before = try await counts(database)
            #expect(before.count >= 20, "\(before)")
            _ = try await Migrator(database.connection).up()
            try await SchemaCheck.run(on: database.connection)
            let difference = try await SchemaFingerprint.read(database.connection).difference(from: fresh)
            #expect(difference.isEmpty, "\(difference)")
            #expect(try await counts(database) == before)
        }
    }

    @Test(.enabled(if: !isWritten), arguments: releases)
    func `a released schema becomes that of a new installation, and keeps its rows`(_ release: String) async throws {
        try await Self.expectUpgrade { try await $0.run(try GeneratedPage(Self.folder + release).text) }
    }

    @Test func `what make freeze would write is the schema of this version`() async throws {
        try await Self.expectUpgrade { try await $0.run(try await Self.script()) }
    }

    @Test func `this schema with other functions and views becomes that of a new installation`() async throws {
        try await Self.expectUpgrade { database in
            _ = try await Migrator(database.connection, .rewritten("0.0.1")).up()
            try await database.run(Self.rows)
        }
    }

    @Test(.enabled(if: !isWritten)) func `every version with a date in the changelog has its schema here`() throws {
        let sections = try GeneratedPage("CHANGELOG.md").text.split(separator: "\n").filter { $0.hasPrefix("## ") }
        #expect(!sections.isEmpty)
        for section in sections where !section.hasPrefix("## Unreleased") {
            let version = section.dropFirst(3).prefix { $0.isNumber || $0 == "." }
            #expect(Self.releases.contains("\(version).sql"), "Before the tag, `make freeze` writes it.")
        }
    }
}
