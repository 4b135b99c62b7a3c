import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Each right of a worker, revoked while it does all that workers do.
@Suite struct RevokedRightsCases {
    private struct Right: Sendable {
        /// As in "INSERT ON carillon.results".
        let name: String

        var revoke: String { "REVOKE \(name) FROM carillon_worker" }
        var grant: String { "GRANT \(name) TO carillon_worker" }
    }

    private static let rights = """
        SELECT format('%s ON %s', a.privilege_type, c.oid::regclass) FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relispartition AND a.grantee = 'carillon_worker'::regrole
        UNION ALL
        SELECT format('%s (%I) ON %s', a.privilege_type, t.attname, t.attrelid::regclass) FROM pg_class c
        JOIN pg_attribute t ON t.attrelid = c.oid CROSS JOIN LATERAL aclexplode(t.attacl) a
        WHERE c.relnamespace = 'carillon'::regnamespace AND a.grantee = 'carillon_worker'::regrole
        UNION ALL
        SELECT format('EXECUTE ON ROUTINE %s', p.oid::regprocedure) FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a
        WHERE p.pronamespace = 'carillon'::regnamespace AND a.grantee = 'carillon_worker'::regrole
        UNION ALL
        SELECT 'USAGE ON SCHEMA carillon' ORDER BY 1
        """

    /// How many tokens a row has; some are split.
    private static func width(_ round: Int) -> Int { round % 8 == 1 ? 1100 : 20 }

    /// How many pushes a round of work has.
    private static func pushes(_ round: Int) -> Int { 122 + width(round) }

    /// Plain and due rows, retries, dead tokens, a row of many tokens, background pushes that are paced, updates of Live
    /// Activities, rows of an app with a rate, the claim of a dead worker, a request for a channel, an app without a credential,
    /// which is held, and each maintenance task. What becomes of the pushes is kept, and followed by a consumer and a webhook.
    private static func work(_ round: Int) -> String {
        let name = "lpad(to_hex(n + \(round * 100)), 62, '0')"
        func rows(_ prefix: String, _ count: Int, app: Int = 1) -> String {
            """
            INSERT INTO carillon.messages (app_id, lane, tokens, payload)
            SELECT \(app), n % 3, ARRAY['\(prefix)' || \(name)], '{"aps":{"alert":"x"}}' FROM generate_series(1, \(count)) n;
            """
        }
        return """
            INSERT INTO carillon.tokens (app_id, token, last_update)
            SELECT 1, 'dd' || \(name), now() - interval '1 day' FROM generate_series(1, 10) n ON CONFLICT DO NOTHING;
            \(rows("aa", 30)) \(rows("ee", 20)) \(rows("dd", 10)) \(rows("ab", 20, app: 2)) \(rows("ac", 1, app: 3))
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT nextval('carillon.messages_id_seq'), 1, ARRAY['ad' || \(name)], '{"aps":{"alert":"x"}}', now()
            FROM generate_series(1, 20) n;
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, array_agg('ae' || \(name)), '{"aps":{"alert":"x"}}' FROM generate_series(1, \(width(round))) n;
            SELECT carillon.enqueue('\(Scene.app)', ARRAY['af' || \(name)], content_available => true)
            FROM generate_series(1, 10) n;
            SELECT carillon.update_activity('\(Scene.app)', ARRAY['ba' || \(name)], '{}') FROM generate_series(1, 10) n;
            WITH dead AS (
                INSERT INTO carillon.workers (name, lease_until) VALUES ('dead', now() - interval '1 minute') RETURNING id)
            INSERT INTO carillon.inflight (worker_id, app_id, jobs)
            SELECT d.id, 1, ARRAY[carillon.job(id => nextval('carillon.messages_id_seq'), lane => 1::smallint,
                tokens => ARRAY['bb' || lpad('\(round)', 62, '0')], payload => '{"aps":{"alert":"x"}}', created_at => now())]
            FROM dead d;
            SELECT carillon.request_channel('\(Scene.app)', 0, 'match \(round)');
            UPDATE carillon.apps SET certificate_id = CASE WHEN certificate_id IS NULL THEN 1 END WHERE id = 3;
            UPDATE carillon.fleet_tasks SET next_run = now();
            UPDATE carillon.maintenance SET last_success = now() - interval '1 day'
            """
    }

    /// What was revoked when, as in PostgreSQL's log.
    private typealias Revocations = [(second: String, what: String)]

    private static func now(in scene: Scene) async throws -> String {
        try await scene.client.text("to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')")
    }

    private static func withWorker(_ body: (Scene) async throws -> Revocations) async throws {
        try await Scene.with({
            $0.channelPort = 0
            $0.answers = try ["ee=429:TooManyRequests*1", "dd=410:Unregistered"].map { try AnswerRule(parsing: $0) }
        }) { scene in
            let port = try #require(scene.simulator.channelPort)
            try await scene.addApp("paced", topic: Scene.topic, to: scene.simulator)
            try await scene.addApp("held", topic: Scene.topic, to: scene.simulator)
            try await scene.client.run(
                """
                UPDATE carillon.apps SET channel_gateway = 'localhost:\(port)', max_per_device = 1000 WHERE id = 1;
                UPDATE carillon.apps SET max_rate = 200 WHERE id = 2;
                UPDATE carillon.apps SET keep_sent = '1 hour' WHERE id = 1;
                SELECT carillon.subscribe('\(Scene.app)', 'follower'),
                    carillon.add_webhook('hook', '\(Scene.app)', 'https://127.0.0.1:1/', NULL, true)
                """
            )
            // So that a lease that cannot be renewed lasts longer than each fault.
            let worker = try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            let revocations = try await body(scene)
            #expect(try await worker.metric("carillon_unrecorded_jobs_total") == 0)
            #expect(try await worker.stop() == .status(0))
            #expect(!worker.lines(containing: "permission denied").isEmpty)
            let errors = try await TestCluster.errors(of: scene.database)
            #expect(errors.count > 0)
            for (second, found) in errors.sorted(by: { $0.key < $1.key }) where found.count > 20 {
                let missing = revocations.last { $0.second <= second }?.what ?? "nothing"
                Issue.record(
                    "\(found.count) errors in the second \(second), without \(missing), such as \(found.example)"
                )
            }
        }
    }

    /// Waits until all pushes of these rounds have ended as they should.
    private static func expectEnd(of rounds: Int, in scene: Scene) async throws {
        try await scene.client.run("UPDATE carillon.apps SET certificate_id = 1 WHERE id = 3")
        try await scene.drained()
        let ended = "SELECT sum(sent + failed + expired + cancelled) FROM carillon.results"
        #expect(try await scene.client.number(ended) == (1...rounds).reduce(0) { $0 + pushes($1) })
        #expect(
            try await scene.client.text("SELECT string_agg(DISTINCT reason, ' ') FROM carillon.failures")
                == "Unregistered"
        )
    }

    private static let remains = """
        SELECT (SELECT count(*) FROM carillon.messages WHERE app_id < 3)
            + (SELECT count(*) FROM carillon.scheduled WHERE app_id < 3) + (SELECT count(*) FROM carillon.inflight)
        """

    private static let shares = 4
    /// Every share has this right, because a worker may not need the others within a second.
    private static let needed = "DELETE ON carillon.messages"

    /// `make test` revokes a twelfth of the rights, chosen by the seed.
    @Test(arguments: 0..<Self.shares)
    func `D42: PostgreSQL logs at most 20 errors a second whichever right is revoked, and no push is charged`(
        share: Int
    ) async throws {
        try await Self.withWorker { scene in
            let all = try await scene.client.query(Self.rights) { rows in
                try rows.indices.map { Right(name: try rows.string($0, 0)) }
            }
            #expect(all.count > 200)
            let step = Self.shares * Board.sized(12, full: 1)
            let first = (share + Int(Board.seed % UInt64(step))) % step
            var revocations: Revocations = []
            for right in stride(from: first, to: all.count, by: step).map({ all[$0] }) + [Right(name: Self.needed)] {
                revocations.append((try await Self.now(in: scene), right.name))
                let rounds = revocations.count
                try await scene.client.run(right.revoke)
                try await scene.client.run(Self.work(rounds))
                let begin = MonotonicInstant.now
                try await scene.eventually("a second has passed, and a claim was refused if it had to be") {
                    let errors = try await TestCluster.errors(of: scene.database)
                    return MonotonicInstant.now - begin >= .milliseconds(1200)
                        && !(errors.isEmpty && right.name == Self.needed)
                }
                try await scene.client.run(right.grant)
                try await scene.eventually("the round has ended after \(right.grant)") {
                    try await scene.client.number(Self.remains) == 0
                }
            }
            try await Self.expectEnd(of: revocations.count, in: scene)
            return revocations
        }
    }

    /// A right without which a worker sends nothing, loses its lease or cannot start.
    private struct VitalRight: Sendable {
        let right: Right
        let isNeeded: Need

        enum Need { case toStart, toGoOn, toDoEither }

        init(_ name: String, _ need: Need) { (right, isNeeded) = (Right(name: name), need) }
    }

    private static let vitalRights = [
        VitalRight("SELECT ON carillon.schema_migrations", .toStart),
        .init("SELECT ON carillon.schema_routines", .toStart),
        .init("SELECT ON carillon.installation", .toDoEither), .init("INSERT ON carillon.workers", .toStart),
        .init("EXECUTE ON ROUTINE carillon.installation_fault", .toStart),
        .init("EXECUTE ON ROUTINE carillon.installation_state", .toGoOn), .init("UPDATE ON carillon.workers", .toGoOn),
        .init("SELECT ON carillon.certificates", .toGoOn), .init("DELETE ON carillon.inflight", .toGoOn),
        .init("INSERT ON carillon.results", .toGoOn), .init("EXECUTE ON ROUTINE carillon.settle", .toGoOn),
        .init("USAGE ON SCHEMA carillon", .toDoEither), .init("SELECT ON carillon.workers", .toDoEither),
        .init("SELECT ON carillon.apps", .toDoEither), .init("SELECT ON carillon.messages", .toDoEither),
        .init("UPDATE ON carillon.messages", .toDoEither), .init("DELETE ON carillon.messages", .toDoEither),
        .init("SELECT ON carillon.inflight", .toDoEither), .init("INSERT ON carillon.inflight", .toDoEither),
    ]

    /// Each worker is new, because a worker logs one error of a kind in thirty seconds. `make test` takes three.
    @Test(.scene, arguments: 0..<Board.sized(3, full: Self.vitalRights.count))
    func `D42: without a right that it needs, a worker says so, waits or ends, and continues when it is back`(
        number: Int
    ) async throws {
        let count = Self.vitalRights.count
        let step = Board.sized((count + 2) / 3, full: 1)
        let vital = Self.vitalRights[(number * step + Int(Board.seed % UInt64(step))) % count]
        let worker = try await scene.fleet.started()
        try await scene.enqueue(5)
        try await scene.drained()
        try await scene.client.run(vital.right.revoke)
        let pushes = 20
        try await scene.enqueue(pushes)
        if vital.isNeeded != .toStart { try await worker.says("permission denied for") }
        let late = try scene.fleet.start()
        if vital.isNeeded == .toGoOn {
            try await late.started()
        } else {
            #expect(try await late.end() == .status(78))
            #expect(late.said.contains("Permission denied for") && late.said.contains("GRANT carillon_worker"))
        }
        let begin = MonotonicInstant.now
        try await scene.eventually("a lease has passed") { MonotonicInstant.now - begin > Fleet.lease }
        #expect(worker.isRunning)
        try await scene.client.run(vital.right.grant)
        if vital.isNeeded != .toGoOn { try await scene.fleet.started() }
        let audit = try await scene.finish(duplicates: pushes)
        #expect(audit.outcomes.failures.isEmpty)
    }

    @Test func `D43: without any right, a worker logs and repeats as little, and continues once it has them all`()
        async throws
    {
        try await Self.withWorker { scene in
            let revoked = try await scene.client.text(
                "SELECT string_agg('REVOKE ' || r.name || ' FROM carillon_worker', ';') FROM (\(Self.rights)) r (name)"
            )
            let granted = try await scene.client.text(
                "SELECT string_agg('GRANT ' || r.name || ' TO carillon_worker', ';') FROM (\(Self.rights)) r (name)"
            )
            let seconds = Board.sized(5, full: 30)
            for round in 1...2 {
                let before = scene.record.requests
                try await scene.client.run(Self.work(round))
                try await scene.requests(before + 1)
                try await scene.client.run(revoked)
                let begin = MonotonicInstant.now
                try await scene.eventually("\(seconds) seconds have passed") {
                    MonotonicInstant.now - begin >= .seconds(seconds)
                }
                try await scene.client.run(granted)
            }
            try await Self.expectEnd(of: 2, in: scene)
            return [("", "any right")]
        }
    }
}
