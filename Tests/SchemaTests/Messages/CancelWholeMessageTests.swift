import TestSupport
import Testing

/// The id that `enqueue` or `broadcast` returned, or the id of any of its jobs, cancels the whole message.
@Suite(.demo) struct CancelWholeMessageTests {
    private static let tokens = "ARRAY(SELECT lpad(to_hex(i), 8, '0') FROM generate_series(1, 2500) i)"
    private static let register = """
        INSERT INTO carillon.tokens (app_id, token) SELECT 1, lpad(to_hex(i), 8, '0') FROM generate_series(1, 2500) i
        """

    @Test(arguments: [
        ("carillon.cancel(ID)", 0), ("carillon.cancel(ID)", 2), ("carillon.cancel_messages(ARRAY[ID])", 0),
        ("carillon.cancel_messages(ARRAY[ID, ID - 1, 12345])", 1), ("carillon.cancel_broadcast(ID)", 2),
        ("carillon.cancel(ID, app => 'demo')", 1),
    ])
    func `a message of several jobs is cancelled whole by the id of any of them`(call: String, job: Int) async throws {
        try await database.run(Self.register)
        let other = try #require(try await database.value("carillon.enqueue('demo', '{ee}', 'x', lane => 2)"))
        for send in [
            "carillon.enqueue('demo', \(Self.tokens), 'x')", "carillon.broadcast('demo', 'x')",
            "carillon.enqueue('demo', \(Self.tokens), 'x', run_at => '2100-01-01Z')",
        ] {
            let id = try #require(try await database.value(send).flatMap { Int64($0) })
            let asked = call.replacing("ID", with: "\(id + Int64(job))")
            #expect(try await database.value(asked) == "3", "\(send)")
            #expect(try await database.rows("SELECT id FROM carillon.pending") == ["(\(other))"])
            let status = "SELECT state, cancelled, waiting FROM carillon.message_status"
            #expect(try await database.rows("\(status)(\(id))") == ["(cancelled,2500,0)"])
            #expect(
                try await database.value(
                    "SELECT cancelled_at IS NOT NULL FROM carillon.split_messages WHERE id = \(id)"
                ) == "true"
            )
            #expect(try await database.value(asked) == "0")
        }
    }

    @Test func `jobs that have ended or are in flight are left, and none is retried`() async throws {
        let worker = try await database.addWorker()
        let id = try #require(
            try await database.value("carillon.enqueue('demo', \(Self.tokens), 'x', lane => 1)").flatMap {
                Int64($0)
            }
        )
        #expect(try await database.claim(by: worker, pushes: 2000).count == 2)
        // The first of two in flight is sent.
        try await database.run(
            """
            UPDATE carillon.inflight SET jobs = jobs[2:];
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent) VALUES (\(id), 1, \(id), 1000)
            """
        )
        #expect(try await database.value("carillon.cancel(\(id))") == "1")
        try await database.run("SELECT carillon.release(\(worker), ARRAY(SELECT id FROM carillon.inflight))")
        #expect(
            try await database.rows("SELECT sent, cancelled, waiting FROM carillon.message_status(\(id + 2))") == [
                "(1000,1500,0)"
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.cancelled") == "0")
    }

    @Test func `retries are cancelled with their message, in every table, and by their own ids`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens) VALUES (100, 102, 1, 1, 3, 30);
            INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining)
            VALUES (100, 1, 100, 2), (101, 1, 100, 1), (500, 1, NULL, 3);
            INSERT INTO carillon.messages (id, app_id, tokens, payload, attempt, origin, broadcast_id) VALUES
                (102, 1, '{aa}', '{}', 1, NULL, 100), (700, 1, '{aa,bb}', '{}', 2, 100, 100),
                (800, 1, '{aa}', '{}', 2, 500, NULL);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, attempt, origin, broadcast_id, run_at) VALUES
                (701, 1, '{aa}', '{}', 2, 101, 100, now()), (801, 1, '{bb,cc}', '{}', 2, 500, NULL, now())
            """
        )
        for (asked, whole) in [(701, 3), (800, 2)] {
            try await database.run("BEGIN")
            #expect(try await database.value("carillon.cancel(\(asked))") == "\(whole)")
            try await database.run("ROLLBACK")
        }
        #expect(try await database.value("carillon.cancel_messages('{700,801}')") == "5")
        #expect(
            try await database.rows("SELECT message_id, cancelled FROM carillon.results ORDER BY 1") == [
                "(100,2)", "(101,1)", "(102,1)", "(500,3)",
            ]
        )
    }

    @Test func `the id of a job that has ended cancels the rest of its message`() async throws {
        let id = try #require(
            try await database.value("carillon.enqueue('demo', \(Self.tokens), 'x')").flatMap { Int64($0) }
        )
        try await database.run(
            """
            DELETE FROM carillon.messages WHERE id = \(id + 1);
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent) VALUES (\(id + 1), 1, \(id), 1000)
            """
        )
        #expect(try await database.value("carillon.cancel(\(id + 1))") == "2")
    }

    @Test func `cancelling many messages of several jobs reads inflight as often as cancelling one`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens)
            SELECT i, i + 9, 1, 1, 10, 10000 FROM generate_series(1000, 6990, 10) i;
            INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining)
            SELECT i, 1, i / 10 * 10, 1 FROM generate_series(1000, 6999) i;
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT 1, 1, array_agg(carillon.job(id => i, lane => 1::smallint, tokens => '{aa}', payload => '{}',
                broadcast_id => i / 10 * 10, created_at => now()))
            FROM generate_series(1000, 6999) i GROUP BY i / 1000
            """
        )
        var counts: [Int] = []
        for last in [1000, 1990] {
            let cancel = "SELECT carillon.cancel_messages(ARRAY(SELECT generate_series(1000, \(last), 10)::bigint))"
            counts.append(try await database.blocksOfLongValues(in: "inflight", readBy: cancel))
        }
        #expect(counts[0] > 0 && counts[1] == counts[0], "pages read: \(counts)")
    }
}
