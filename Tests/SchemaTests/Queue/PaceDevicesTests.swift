import CarillonPostgres
import TestSupport
import Testing

/// What `pace_devices()` decides while another worker decides, too.
@Suite(.demo) struct PaceDevicesTests {
    /// Answers with the decisions about the pushes of the worker's claim.
    private static func pace(_ database: TestDatabase, of worker: Int64) async throws -> String? {
        try await database.value(
            """
            SELECT (carillon.pace_devices(f.app_id, f.id, f.worker_id, f.claimed_at, ARRAY(SELECT j.id FROM unnest(f.jobs) j, unnest(j.tokens)),
                ARRAY(SELECT t FROM unnest(f.jobs) j, unnest(j.tokens) t), 1)).decisions
            FROM carillon.inflight f WHERE f.worker_id = \(worker)
            """
        )
    }

    @Test func `a push that another worker sent during the call keeps its slot`() async throws {
        // The devices have had pushes before, so their rows are there.
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            VALUES (1, '{aa,bb}', '{"aps":{"content-available":1}}'), (1, '{bb}', '{"aps":{"content-available":1}}');
            INSERT INTO carillon.device_slots (app_id, token, slots, last_at) VALUES (1, 'aa', '{}', now()), (1, 'bb', '{}', now())
            """
        )
        let (slow, fast) = (try await database.addWorker(), try await database.addWorker())
        #expect(try await database.claim(by: slow, rows: 1).map(\.tokens) == [["aa", "bb"]])
        #expect(try await database.claim(by: fast).map(\.tokens) == [["bb"]])
        try await database.run("BEGIN")
        try await database.run("SELECT FROM carillon.device_slots d WHERE d.token = 'aa' FOR UPDATE")
        async let later = database.session { try await Self.pace($0, of: slow) }
        // The slow worker waits for the first device.
        try await database.seesBlocked("pace_devices")
        let first = try await database.session { other in try await Self.pace(other, of: fast) }
        #expect(first == "{send}")
        try await database.run("COMMIT")
        #expect(try await later == "{send,later}")
        #expect(
            try await database.rows(
                """
                SELECT d.token, count(*), count(*) FILTER (WHERE s.at > clock_timestamp() + interval '50 minutes')
                FROM carillon.device_slots d, unnest(d.slots) s GROUP BY 1 ORDER BY 1
                """
            ) == ["(aa,1,0)", "(bb,2,1)"]
        )
    }
}
