import CarillonPushQueue
import TestSupport
import Testing

/// Holds, and those of workers that have died or cannot say more.
@Suite(.demo) struct HoldTests {
    private static let changes = [
        ("UPDATE carillon.apps SET gateway = 'localhost:9' WHERE id = 1", isChange: true),
        ("UPDATE carillon.certificates SET passphrase = 'new' WHERE id = 1", isChange: true),
        ("UPDATE carillon.certificates SET status = 'rejected' WHERE id = 1", isChange: false),
        ("UPDATE carillon.apps SET feedback_error = 'Nobody answers' WHERE id = 1", isChange: false),
    ]

    /// The worker that wrote the hold may be frozen, or cut off from the database.
    @Test(arguments: Self.changes)
    func `a hold ends with a change of its app or credential, whoever wrote it`(change: String, isChange: Bool)
        async throws
    {
        try await database.run(
            """
            INSERT INTO carillon.certificates (id, name, certificate) OVERRIDING SYSTEM VALUE VALUES (1, 'key', 'x')
                ON CONFLICT DO NOTHING;
            UPDATE carillon.apps SET certificate_id = 1 WHERE id = 1;
            """ + Self.setUp
        )
        let held = "SELECT a.app, h.kind FROM carillon.held_apps h JOIN carillon.app_status a USING (app_id)"
        #expect(try await database.rows(held) == ["(demo,connection)"])
        try await database.run(change)
        #expect(try await database.rows(held) == (isChange ? [] : ["(demo,connection)"]))
        // It was tried again, and cannot send with what is new either.
        try await database.run("UPDATE carillon.holds SET seen_at = now() WHERE app_id = 1")
        #expect(try await database.rows(held) == ["(demo,connection)"])
    }

    @Test(arguments: ["app_status.hold_kind", "held_apps.kind"])
    func `the comment of each column with kinds of holds names all of them`(column: String) async throws {
        let parts = column.split(separator: ".")
        let comment = try await database.value(
            """
            SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute a
            WHERE a.attrelid = 'carillon.\(parts[0])'::regclass AND a.attname = '\(parts[1])'
            """
        )
        let kinds = Hold.Kind.allCases.map(\.rawValue)
        let list = kinds.dropLast().joined(separator: ", ") + " or " + (kinds.last ?? "")
        #expect(comment?.hasSuffix(list) == true, "\(comment ?? "")")
    }

    private static let setUp = """
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'a', now()), (2, 'b', now());
        INSERT INTO carillon.holds (app_id, kind, reason, worker_id)
        VALUES (1, 'connection', 'Nobody answers', 1), (2, 'connection', 'Nobody answers', 2)
        """

    @Test func `the holds of a worker end when it is taken over`() async throws {
        try await database.run(Self.setUp)
        try await database.run("SELECT carillon.take_over(1, 7)")
        #expect(try await database.rows("SELECT app_id FROM carillon.holds ORDER BY 1") == ["(1)", "(2)"])
        try await database.run("SELECT carillon.take_over(1, (SELECT w.beat FROM carillon.workers w WHERE w.id = 1))")
        #expect(try await database.rows("SELECT app_id FROM carillon.holds") == ["(2)"])
    }

    @Test func `a locked row of holds does not prevent a takeover`() async throws {
        try await database.run(Self.setUp)
        try await database.session { other async throws in
            try await other.run("BEGIN; SELECT FROM carillon.holds WHERE app_id = 1 FOR UPDATE")
            try await database.run(
                """
                SET lock_timeout = '1s';
                SELECT carillon.take_over(1, (SELECT w.beat FROM carillon.workers w WHERE w.id = 1))
                """
            )
            #expect(try await database.rows("SELECT id FROM carillon.workers") == ["(2)"])
            try await other.run("ROLLBACK")
        }
    }
}
