import CarillonIO
import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

/// Sessions that change the counts of a message lock in one order: settlements, takeovers, promotions and cancels.
///
/// What each session locks, and in which order, follows from a seed that every issue names. `LOCK_ORDER_SEED=NUMBER` repeats it;
/// how the sessions meet is up to PostgreSQL.
@Suite(.demo) struct LockOrderTests {
    private static let seed =
        ProcessInfo.processInfo.environment["LOCK_ORDER_SEED"].flatMap { UInt64($0) } ?? .random(in: 1...999_999_999)
    private static let rounds = 15
    private static let jobs = 40

    /// Broadcasts whose jobs wait, are scheduled and are in flight with dead workers. As anywhere, new jobs get ids that none of
    /// them has: a cancel would otherwise remove jobs of broadcasts that it has not locked.
    private static let setUp = """
        SELECT setval('carillon.messages_id_seq', 1000000);
        INSERT INTO carillon.split_messages (id, last_id, app_id, lane, jobs, tokens)
        SELECT b * 1000, b * 1000 + 999, 1, 1, \(jobs), 1000000 FROM generate_series(1, 4) b;
        INSERT INTO carillon.unfinished (message_id, app_id, broadcast_id, remaining)
        SELECT b * 1000 + j, 1, b * 1000, 1000000 FROM generate_series(1, 4) b, generate_series(1, \(jobs)) j
        """

    private static func origins(_ order: String) -> String {
        "(SELECT u.message_id, u.broadcast_id FROM carillon.unfinished u ORDER BY \(order) LIMIT 60)"
    }

    /// A claim of some jobs, most of which end, while the others go back.
    private static func settle(_ worker: Int) -> String {
        let call = TestDatabase.settle(
            expressions: [
                "app": "1", "claim": "c.id", "worker": "c.worker_id", "claimed": "c.claimed_at", "ended": "e.messages",
                "ended_remaining": "array_fill(0, ARRAY[cardinality(e.messages)])", "ended_broadcast": "e.broadcasts",
                "going_back": "b.ids", "going_back_whole": "array_fill(true, ARRAY[cardinality(b.ids)])",
                "going_back_attempt": "array_fill(1::smallint, ARRAY[cardinality(b.ids)])",
            ]
        )
        return """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT \(worker), 1, array_agg(carillon.job(id => nextval('carillon.messages_id_seq'), lane => 1::smallint,
                tokens => '{aa}', payload => '{}', origin => u.message_id, broadcast_id => u.broadcast_id, created_at => now()))
            FROM \(origins("random()")) u;
            \(call) FROM carillon.inflight c, LATERAL (
                SELECT array_agg(j.origin) AS messages, array_agg(j.broadcast_id) AS broadcasts
                FROM unnest(c.jobs) WITH ORDINALITY AS j WHERE j.ordinality % 4 > 0) e, LATERAL (
                SELECT array_agg(j.id) AS ids FROM unnest(c.jobs) WITH ORDINALITY AS j WHERE j.ordinality % 4 = 0) b
            WHERE c.worker_id = \(worker)
            """
    }

    private static let takeOver = """
        INSERT INTO carillon.inflight (worker_id, app_id, jobs)
        SELECT 999, 1, array_agg(carillon.job(id => nextval('carillon.messages_id_seq'), lane => 1::smallint, tokens => '{aa}',
            payload => '{}', on_unknown => CASE WHEN random() < 0.5 THEN 'fail' ELSE 'retry' END, lost_claims => 4::smallint,
            origin => u.message_id, broadcast_id => u.broadcast_id, created_at => now()))
        FROM \(origins("random()")) u, generate_series(1, 3) claim GROUP BY claim;
        SELECT carillon.take_over(0)
        """

    private static let promote = """
        INSERT INTO carillon.scheduled (id, app_id, tokens, payload, origin, broadcast_id, run_at)
        SELECT nextval('carillon.messages_id_seq'), 1, '{aa}', '{}', u.message_id, u.broadcast_id, now()
        FROM \(origins("random()")) u;
        SELECT carillon.promote(100)
        """

    private static func cancel(_ round: Int) -> String {
        """
        SELECT carillon.cancel_broadcast(\((round % 4 + 1) * 1000));
        UPDATE carillon.split_messages SET cancelled_at = NULL WHERE id = \((round % 4 + 1) * 1000)
        """
    }

    private static let cancelOne = """
        SELECT carillon.cancel(u.message_id) FROM carillon.unfinished u ORDER BY random() LIMIT 1
        """

    private static func cancel(_ origins: String) -> String {
        "SELECT carillon.cancel_messages(ARRAY(SELECT u.message_id FROM \(origins) u))"
    }

    /// A long list locks all messages of the app.
    private static let scatter = """
        INSERT INTO carillon.messages (id, app_id, tokens, payload)
        SELECT i, 1, '{aa}', '{}' FROM generate_series(100000, 101099) i ON CONFLICT DO NOTHING
        """
    private static let cancelMany = cancel(
        "(SELECT u.message_id FROM \(origins("random()")) u UNION ALL SELECT generate_series(100000, 101099))"
    )

    /// Lets `random()` of a session follow from the seed.
    private static func setSeed(_ seed: UInt64, worker: Int) -> String {
        var random = SeededGenerator(seed: seed &+ UInt64(worker))
        return "SELECT setseed(\(Double.random(in: -1...1, using: &random)))"
    }

    /// Runs the body with a session of its own. Only the server's log says which statements were in a deadlock.
    private static func explained(in database: TestDatabase, _ body: (TestDatabase) async throws -> Void) async throws {
        do {
            try await database.session { try await body($0) }
        } catch let error as PostgresError where error.sqlState == "40P01" {
            let log = try String(contentsOfFile: try await TestCluster.shared.folder + "/server.log", encoding: .utf8)
            let deadlock = log.ranges(of: "deadlock detected").last.map { log[$0.lowerBound...].prefix(4000) }
            Issue.record("\(deadlock ?? "")")
            throw error
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [Self.seed])
    func `workers and apps that lock the same messages never deadlock`(seed: UInt64) async throws {
        try await database.run(Self.setUp)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    try await Self.explained(in: database) { session in
                        try await session.run(Self.setSeed(seed, worker: worker))
                        for round in 0..<Self.rounds {
                            switch worker {
                            case 0, 1: try await session.run(Self.settle(1000 + worker))
                            case 2: try await session.run(Self.takeOver)
                            case 3: try await session.run(Self.promote)
                            case 4: try await session.run(Self.cancel(round))
                            case 5: try await session.run(Self.cancel(Self.origins("random()")))
                            case 6: try await session.run("\(Self.scatter); \(Self.cancelMany)")
                            default: try await session.run(Self.cancelOne)
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(
            try await database.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0"
        )
        for count in ["cancelled", "sent"] {
            let isCounted = "SELECT count(*) > 0 FROM carillon.unfinished WHERE \(count) > 0"
            #expect(try await database.value(isCounted) == "true")
        }
    }
}
