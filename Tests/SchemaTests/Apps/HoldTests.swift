import TestSupport
import Testing

/// The holds of workers that have died.
@Suite struct HoldTests {
    private static let setUp = """
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'a', now()), (2, 'b', now());
        INSERT INTO carillon.holds (app_id, kind, reason, worker_id)
        VALUES (1, 'connection', 'Nobody answers', 1), (2, 'connection', 'Nobody answers', 2)
        """

    @Test func `the holds of a worker end when it is taken over`() async throws {
        try await TestDatabase.withDemo { database async throws in
            try await database.run(Self.setUp)
            try await database.run("SELECT carillon.take_over(1, 7)")
            #expect(try await database.rows("SELECT app_id FROM carillon.holds ORDER BY 1") == ["(1)", "(2)"])
            try await database.run(
                "SELECT carillon.take_over(1, (SELECT w.beat FROM carillon.workers w WHERE w.id = 1))"
            )
            #expect(try await database.rows("SELECT app_id FROM carillon.holds") == ["(2)"])
        }
    }

    @Test func `a locked row of holds does not prevent a take-over`() async throws {
        try await TestDatabase.withDemo { database async throws in
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
}
