import CarillonPostgres
import TestSupport
import Testing

/// Finding results by the caller's own id, whatever text it is.
@Suite(.demo) struct ReferenceTests {
    @Test func `a reference that 100,000 rows share does not slow down inserts`() async throws {
        let insert = """
            INSERT INTO carillon.results (message_id, app_id, reference)
            SELECT i, 1, %reference FROM generate_series(1, %count) i
            """
        let same = insert.replacing("%reference", with: "'the campaign of november'")
        try await database.run(same.replacing("%count", with: "100000"))
        // All indexes and the table together.
        let plan = try await database.plan(same.replacing("%count", with: "500"), "ANALYZE, BUFFERS, TIMING off")
        let buffers = plan.split(separator: "shared hit=").dropFirst().first.flatMap {
            Int($0.prefix(while: \.isNumber))
        }
        #expect(try #require(buffers) < 500 * 20, "\(plan)")
    }

    @Test func `a reference is found by an index, including one that is too long for a B-tree`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.results (message_id, app_id, reference)
            SELECT i, 1, repeat('ü''', 30000) || i FROM generate_series(1, 50) i;
            INSERT INTO carillon.results (message_id, app_id, reference) SELECT i, 1, 'order ' || i FROM generate_series(51, 5000) i;
            INSERT INTO carillon.results (message_id, app_id, reference) VALUES (-1, 1, ''), (-2, 1, NULL), (-3, 1, 'Order 77');
            SET enable_seqscan = off; SET enable_bitmapscan = off
            """
        )
        for (reference, id) in [("'order 77'", 77), ("repeat('ü''', 30000) || 7", 7), ("''", -1)] {
            let query = "SELECT r.message_id FROM carillon.results r WHERE r.reference = \(reference)"
            #expect(try await database.rows(query) == ["(\(id))"])
            let plan = try await database.plan(query)
            #expect(plan.contains("reference_idx") && !plan.contains("Filter"), "\(plan)")
        }
    }
}
