import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Jobs that return from workers while the transaction that cancels them is open, so that its rows are not visible yet.
@Suite(.demo) struct CancelUnderWayTests {
    /// A way in which jobs return. Message 100 is being cancelled, 101 is another of its app, 102 of another app.
    enum Return: CaseIterable {
        case release, takeOver, takeOverOfSuspects, retryAtOnce, retryOfOneToken, retryThatIsDue

        var claimsInVain: Int { self == .takeOverOfSuspects ? 4 : 0 }
        /// How many pushes of message 100 were sent.
        var sent: Int { self == .retryOfOneToken ? 1 : 0 }
        /// The statements of a worker, each a transaction.
        var statements: [String] {
            switch self {
            case .release: ["SELECT carillon.release(1, '{1,2}')"]
            case .takeOver, .takeOverOfSuspects:
                ["DELETE FROM carillon.workers WHERE id = 1", "SELECT carillon.take_over(0)"]
            case .retryAtOnce: [Self.settle(1, again: [100, 101]), Self.settle(2, again: [102])]
            case .retryOfOneToken: [Self.settleOneToken, Self.settle(2, again: [102])]
            case .retryThatIsDue:
                [
                    Self.settle(1, again: [100, 101], after: "0"), Self.settle(2, again: [102], after: "0"),
                    "SELECT carillon.promote(10)",
                ]
            }
        }

        private static func settle(
            _ claim: Int,
            again jobs: [Int],
            after: String = "NULL",
            _ others: [String: String] = [:]
        ) -> String {
            let each = { (value: String) in "{\(jobs.map { _ in value }.joined(separator: ","))}" }
            let arguments = [
                // Claim 1 is of app 1, and claim 2 of app 2.
                "app": "\(claim)", "claim": "\(claim)", "claimed": "2026-01-01Z",
                "going_back": "{\(jobs.map(String.init).joined(separator: ","))}", "going_back_whole": each("t"),
                "going_back_attempt": each("2"), "going_back_after": each(after),
            ]
            return TestDatabase.settle(arguments.merging(others) { $1 })
        }

        /// One token of message 100 was sent.
        private static let settleOneToken = settle(
            1,
            again: [100, 101],
            [
                "ended": "{100}", "ended_remaining": "{1}", "going_back_whole": "{f,t}", "going_back_place": "{1}",
                "going_back_token": "{bb}",
            ]
        )
    }

    private static func job(_ id: Int, _ tokens: String, claimsInVain: Int = 0) -> String {
        """
        carillon.job(id => \(id), lane => 1::smallint, tokens => '\(tokens)', payload => '{}',
            lost_claims => \(claimsInVain)::smallint, created_at => now())
        """
    }

    private static func fly(claimsInVain: Int = 0) -> String {
        let one = job(100, "{aa,bb}", claimsInVain: claimsInVain)
        let other = job(101, "{cc}", claimsInVain: claimsInVain)
        return """
            INSERT INTO carillon.apps (id, name, topic) VALUES (2, 'other', 'com.example.other');
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour');
            INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs) VALUES
                (1, 1, 1, '2026-01-01Z', ARRAY[\(one), \(other)]),
                (2, 1, 2, '2026-01-01Z', ARRAY[\(job(102, "{dd}", claimsInVain: claimsInVain))]);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT i, 1, '{aa}', '{}', 'infinity' FROM generate_series(100000, 101000) i
            """
    }

    /// A long list locks all messages of the app.
    private static let longList =
        "carillon.cancel_messages(ARRAY(SELECT generate_series(100000, 101000)) || 100::bigint)"
    /// Longer than any worker waits.
    private static let noWaiting = "SET lock_timeout = '100ms'"
    private static let results = "SELECT message_id, sent, cancelled FROM carillon.results WHERE message_id < 100000"
    private static let due = "UPDATE carillon.scheduled SET run_at = now() WHERE run_at < 'infinity'"
    private static let ready = "SELECT DISTINCT coalesce(m.origin, m.id) FROM carillon.messages m ORDER BY 1"

    @Test(arguments: Return.allCases, ["carillon.cancel(100)", longList])
    func `a job that returns while it is being cancelled is not sent again, and no session waits`(
        _ way: Return,
        _ cancel: String
    ) async throws {
        try await database.run(Self.fly(claimsInVain: way.claimsInVain))
        try await database.run(Self.noWaiting)
        try await database.session { app in
            try await app.run("BEGIN")
            #expect(try await app.value(cancel) == (cancel == Self.longList ? "1001" : "0"))
            for statement in way.statements { try await database.run(statement) }
            // The other messages are ready; after a long list, those of its app are delayed by a second.
            let expected = cancel == Self.longList ? ["(102)"] : ["(101)", "(102)"]
            #expect(try await database.rows(Self.ready) == expected)
            try await app.run("COMMIT")
        }
        let next = try await database.addWorker()
        #expect(try await database.claim(by: next).map(\.id).allSatisfy { $0 == 101 })
        // It is not sent later either.
        try await database.run(Self.due)
        try await database.run("SELECT carillon.promote(10)")
        #expect(try await database.claim(by: next).map(\.id).allSatisfy { $0 == 101 })
        #expect(try await database.rows(Self.results) == ["(100,\(way.sent),\(2 - way.sent))"])
        #expect(
            try await database.rows(
                "SELECT coalesce(j.origin, j.id) FROM carillon.inflight f, unnest(f.jobs) j WHERE f.app_id = 1"
            ) == ["(101)"]
        )
    }

    @Test(arguments: Return.allCases, ["carillon.cancel(100)", longList])
    func `a cancel waits for sessions that put its jobs back, and removes them`(_ way: Return, _ cancel: String)
        async throws
    {
        try await database.run(Self.fly(claimsInVain: way.claimsInVain))
        for statement in way.statements.dropLast() { try await database.run(statement) }
        try await database.run("BEGIN; \(way.statements.last ?? "")")
        try await database.session { app in
            let session = try #require(try await app.value("pg_backend_pid()"))
            async let cancelled = app.value(cancel)
            let isDone = """
                SELECT count(*) FROM pg_stat_activity a
                WHERE a.pid = \(session) AND (a.wait_event_type = 'Lock' OR a.state = 'idle' AND a.query LIKE '%cancel%')
                """
            try await TestLoop.with { loop in
                try await database.session { watcher in
                    try await loop.eventually("it waits, or has ended") {
                        try await watcher.value(isDone) != "0"
                    }
                }
            }
            try await database.run("COMMIT")
            _ = try await cancelled
        }
        try await database.run(Self.due)
        try await database.run("SELECT carillon.promote(10)")
        #expect(try await database.rows(Self.ready) == ["(101)", "(102)"])
        #expect(try await database.rows(Self.results) == ["(100,\(way.sent),\(2 - way.sent))"])
    }

    @Test func `a message that is being cancelled does not delay jobs that are due after it`() async throws {
        try await database.run(Self.fly())
        try await database.run(Self.noWaiting)
        try await database.session { app in
            try await app.run("BEGIN; SELECT \(Self.longList)")
            try await database.run(
                """
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                SELECT i, 1, '{aa}', '{}', now() - interval '1 hour' FROM generate_series(200, 249) i;
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (300, 2, '{aa}', '{}', now())
                """
            )
            try await database.run("SELECT carillon.promote(50)")
            try await database.run("SELECT carillon.promote(50)")
            #expect(try await database.rows(Self.ready) == ["(300)"])
            try await app.run("ROLLBACK")
        }
        try await database.run(Self.due)
        try await database.run("SELECT carillon.promote(50)")
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "51")
    }

    @Test func `a message that is being cancelled is not split`() async throws {
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa,bb}', 'x')"))
        try await database.run(Self.noWaiting)
        try await database.session { app in
            try await app.run("BEGIN; SELECT carillon.cancel(\(id))")
            #expect(try await database.value("carillon.split(1, 1::smallint, \(id), 1)") == "0")
            try await app.run("ROLLBACK")
        }
        #expect(try await database.value("carillon.split(1, 1::smallint, \(id), 1)") == "2")
    }

    @Test func `returning jobs lock no rows for a cancel unless one runs, and then few wait for it`() async throws {
        let fly = """
            INSERT INTO carillon.inflight (id, worker_id, app_id, jobs)
            SELECT 7, 1, 1, array_agg(carillon.job(id => i, lane => 1::smallint, tokens => '{aa}', payload => '{}',
                created_at => now())) FROM generate_series(1000, 2999) i
            """
        let locked = "SELECT count(*) FROM carillon.app_locks l WHERE l.xmax <> '0'"
        try await database.run("\(fly); BEGIN; SELECT carillon.release(1, '{7}')")
        #expect(try await database.value(locked) == "0")
        try await database.run("ROLLBACK; \(fly.replacing("SELECT 7", with: "SELECT 8"))")
        try await database.run("INSERT INTO carillon.unfinished (app_id, message_id, remaining) VALUES (1, 12345, 1)")
        try await database.session { app in
            try await app.run("BEGIN; SELECT carillon.cancel(12345)")
            try await database.run("BEGIN; SELECT carillon.release(1, '{8}')")
            #expect(try await database.value(locked) == "64")
            try await database.run("COMMIT")
            // Those that share the place of the cancelled message wait for a second.
            #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "1969")
            #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "31")
        }
    }
}
