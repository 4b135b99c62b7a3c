import CarillonPostgres
import TestSupport
import Testing

/// Sessions of applications that are killed while they take events, or forget a person.
@Suite struct ConsumerCases {
    /// Takes events in several sessions for as long as the body runs, in new ones whenever these are killed.
    private static func whileTaken(in scene: Scene, _ body: () async throws -> Void) async throws {
        let take = """
            BEGIN; INSERT INTO taken (id, kind, message_id)
            SELECT e.id, e.kind, e.message_id FROM carillon.take_events('follower', 100) AS e
            """
        let takers = (1...3).map { _ in
            Task {
                do {
                    try await scene.eventually("the end", within: .seconds(7200)) {
                        try? await scene.client.session { session in
                            for _ in 1...20 {
                                // Apart, so that kills come between both too.
                                try await session.script(take)
                                try await session.script("COMMIT")
                            }
                        }
                        return false
                    }
                } catch {}  // the task was cancelled
            }
        }
        try await attempt(body) {
            for taker in takers { taker.cancel() }
            for taker in takers { await taker.value }
        }
    }

    /// Ends a session that takes events, or has taken some and not committed yet.
    private static func killTaker(in scene: Scene) async throws {
        try await scene.eventually("a session was killed") {
            let killed = try? await scene.client.number(
                """
                SELECT count(*) FILTER (WHERE pg_terminate_backend(t.pid)) FROM (
                    SELECT a.pid FROM pg_stat_activity a WHERE a.datname = current_database()
                        AND a.application_name = '\(SceneClient.sessionName)' AND a.state <> 'idle'
                        AND (a.query LIKE '%take_events%' OR a.query = 'COMMIT') ORDER BY random() LIMIT 1
                ) AS t
                """
            )
            return killed == 1
        }
    }

    @Test func `R15: whenever sessions that take events are killed, no event is lost, and none is committed twice`()
        async throws
    {
        try await Scene.with(on: .own(.crashSafe)) { scene in
            try await scene.client.run(
                "CREATE TABLE taken (id text, kind text, message_id bigint); SELECT carillon.subscribe('board', 'follower')"
            )
            try await scene.fleet.started(["--max-in-flight", "500"])
            let rounds = Board.sized(2, full: 6)
            try await Self.whileTaken(in: scene) {
                try await scene.underLoad {
                    for _ in 1...rounds {
                        for _ in 1...Board.sized(5, full: 20) {
                            try await Self.killTaker(in: scene)
                            try await scene.goesOn(50)
                        }
                        try await scene.cluster.restart(.immediate)
                        try await scene.goesOn(50)
                    }
                }
                try await scene.drained()
                try await scene.eventually("all events were taken") {
                    try await scene.client.number("SELECT count(*) FROM carillon.untaken_events") == 0
                }
            }
            #expect(
                try await scene.client.text(
                    """
                    SELECT (count(*) - count(DISTINCT t.id), count(*) FILTER (WHERE t.kind = 'sent'),
                        count(*) FILTER (WHERE t.kind = 'finished'), count(DISTINCT t.message_id)) FROM taken t
                    """
                )
                    == scene.client.text(
                        "SELECT (0, sum(r.sent), count(*), count(DISTINCT r.message_id)) FROM carillon.results r"
                    )
            )
            // Claims are committed asynchronously: after a crash their rows are back, and are sent again.
            try await scene.finish(duplicates: rounds * 500)
        }
    }

    /// In the order in which `forget` comes to them.
    private static let steps = [
        "app_locks", "split_messages", "messages", "inflight", "scheduled", "unfinished", "results", "failures",
        "events",
        "feedback", "audit", "dedupe", "tokens",
    ]

    /// Messages to a person and to somebody else; every fifth is scheduled for later.
    private static func enqueueForAnna(_ count: Int, in scene: Scene) async throws -> [String] {
        var tokens: [String] = []
        for number in 0..<count {
            let (hers, other) = (scene.message(prefix: "aaaa"), scene.message())
            let both = Ledger.Message(
                reference: other.reference,
                tokens: hers.tokens + other.tokens,
                payload: other.payload,
                mayRepeat: true
            )
            try await scene.client.run("SELECT carillon.register_token('board', '\(hers.tokens[0])', 'anna')")
            try await scene.enqueue(both, number % 5 == 0 ? [("run_at", "now() + interval '1 hour'")] : [])
            tokens += hers.tokens
        }
        return tokens
    }

    @Test(.scene)
    func `D47: forget changes nothing if it is killed at any step, and erases a person once it is called again`()
        async throws
    {
        try await scene.client.run(
            "SELECT carillon.subscribe('board', 'follower'); UPDATE carillon.apps SET max_rate = 20"
        )
        try await scene.fleet.started(lease: Fleet.calm)
        let tokens = try await Self.enqueueForAnna(Board.sized(60, full: 300), in: scene)
        try await scene.requests(10)
        for step in Self.steps {
            try await scene.client.session { session in
                // It conflicts with the locks of statements that write or lock rows.
                try await session.script("BEGIN; LOCK TABLE carillon.\(step) IN EXCLUSIVE MODE")
                let killed = Task {
                    try await scene.client.session { other in
                        try await other.script("SELECT carillon.forget('board', 'anna')")
                    }
                }
                try await scene.waitsForLock("SELECT carillon.forget(")
                try await scene.client.run(
                    """
                    SELECT pg_terminate_backend(a.pid, 60000) FROM pg_stat_activity a
                    WHERE a.datname = current_database() AND a.query LIKE 'SELECT carillon.forget(%'
                    """
                )
                await #expect(throws: PostgresError.self, "\(step)") { try await killed.value }
                try await session.script("COMMIT")
            }
        }
        let hers = "SELECT count(*) FROM carillon.tokens t WHERE t.owner = 'anna'"
        #expect(try await scene.client.number(hers) == tokens.count)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.audit a WHERE a.action = 'forget'") == 0)
        try await scene.client.run("SELECT carillon.forget('board', 'anna')")
        #expect(try await scene.client.number(hers) == 0)
        try await scene.client.run(
            "UPDATE carillon.scheduled SET run_at = now(); UPDATE carillon.apps SET max_rate = NULL"
        )
        let audit = try await scene.finish()
        // Of each message, her push was sent or cancelled, and the other was sent.
        let results = audit.outcomes.results.values.joined()
        #expect(results.allSatisfy { $0.total == 2 && $0.sent >= 1 })
        #expect(results.contains { $0.cancelled == 1 } && results.contains { $0.sent == 2 })
        for table in ["results", "failures", "events", "feedback", "audit", "dedupe", "unknown_outcomes"] {
            let named = "SELECT count(*) FROM carillon.\(table) t WHERE to_jsonb(t)::text ~ 'anna|aaaa0000'"
            #expect(try await scene.client.number(named) == 0, "\(table)")
        }
    }
}
