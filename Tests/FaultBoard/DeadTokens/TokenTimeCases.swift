import ApplePushSimulator
import Glibc
import Testing

/// When a token died, and when it was registered.
@Suite struct TokenTimeCases {
    private static let hour = 3600
    /// In seconds since 1970.
    private static var now: Int { time(nil) }

    @Test
    func `A2: a 410 deletes what was registered before its time, and nothing that was registered since`() async throws {
        let died = (Self.now - Self.hour) * 1000
        try await Scene.with({
            $0.answers = [
                try AnswerRule(parsing: "dd=410:Unregistered:\(died)"), try AnswerRule(parsing: "de=410:ExpiredToken"),
            ]
        }) { scene in
            let older = (1...20).map { _ in scene.message(prefix: "dd") }
            let newer = (1...20).map { _ in scene.message(prefix: "dd") }
            let now = (1...20).map { _ in scene.message(prefix: "de") }
            try await scene.register(older.flatMap(\.tokens), ago: Self.hour + 60)
            try await scene.register(newer.flatMap(\.tokens), ago: Self.hour - 60)
            try await scene.register(now.flatMap(\.tokens), ago: 60)
            for message in older + newer + now { try await scene.enqueue(message) }
            try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await scene.drained()
            try await scene.feedbackIsHandled(60)
            #expect(try await scene.registered() == newer.flatMap(\.tokens).sorted())
            #expect(
                try await scene.client.text(
                    """
                    SELECT count(*) FROM carillon.failures f WHERE f.reason = 'Unregistered'
                        AND f.unregistered_at = to_timestamp(\(died / 1000))
                    """
                ) == "40"
            )
            try await scene.finish()
        }
    }

    @Test func `F3: a token that is registered again between the 410 and the pass stays`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "dd=410:Unregistered")] }) { scene in
            let messages = (1...100).map { _ in scene.message(prefix: "dd") }
            let tokens = messages.flatMap(\.tokens)
            try await scene.register(tokens)
            try await scene.fleet.started(Scene.neverReaping, lease: Fleet.calm)
            for message in messages { try await scene.enqueue(message) }
            try await scene.drained()
            try await scene.registerAgain(Array(tokens[..<50]))
            try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await scene.feedbackIsHandled(100)
            #expect(try await scene.registered() == tokens[..<50].sorted())
            try await scene.finish()
        }
    }

    @Test
    func `F5: timestamps in seconds, in the future, absurd or missing delete no registered token`() async throws {
        let now = Self.now
        let hourAgo = now - Self.hour
        // A timestamp that is no time counts as the time of the push: tokens registered in the last hour are then deleted too.
        let rules: [(prefix: String, timestamp: String, isTime: Bool)] = [
            ("d1", "\(hourAgo * 1000)", true), ("d2", "\(hourAgo)", true), ("d3", "\((now + Self.hour) * 1000)", false),
            ("d4", "-", false), ("d5", "0", false), ("d6", "\(Int64.max)", false),
            ("d7", "\(hourAgo * 1_000_000)", false),
        ]
        try await Scene.with({
            $0.answers = try rules.map { try AnswerRule(parsing: "\($0.prefix)=410:Unregistered:\($0.timestamp)") }
        }) { scene in
            var kept: [String] = []
            for rule in rules {
                let (old, young, again) = (
                    scene.message(prefix: rule.prefix), scene.message(prefix: rule.prefix),
                    scene.message(prefix: rule.prefix)
                )
                try await scene.register(old.tokens, ago: 2 * Self.hour)
                try await scene.register(young.tokens + again.tokens, ago: Self.hour / 2)
                for message in [old, young, again] { try await scene.enqueue(message) }
                kept += again.tokens + (rule.isTime ? young.tokens : [])
            }
            try await scene.fleet.started(Scene.neverReaping, lease: Fleet.calm)
            try await scene.drained()
            try await scene.registerAgain(kept)
            try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await scene.feedbackIsHandled(3 * rules.count)
            #expect(try await scene.registered() == kept.sorted())
            try await scene.finish()
        }
    }

    @Test(.scene) func `F8: passes continue after the database's clock was set back an hour, and delete no live token`()
        async throws
    {
        let worker = try await scene.fleet.started(["--feedback-interval", "1s"], lease: Fleet.calm)
        let (live, dead, again) = (Scene.token("aa", 1), Scene.token("dd", 1), Scene.token("ee", 1))
        try await scene.register([live, dead, again], ago: 60)
        // All earlier rows are now an hour in the future.
        try await scene.client.run(
            """
            BEGIN;
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT 1, t, now()
            FROM unnest(ARRAY['\(dead)', '\(again)']) t;
            UPDATE carillon.tokens SET last_update = last_update + interval '1 hour';
            UPDATE carillon.feedback SET unregistered_at = unregistered_at + interval '1 hour',
                seen_at = seen_at + interval '1 hour';
            UPDATE carillon.fleet_tasks SET next_run = now() + interval '1 hour 1 s', every = '1 s';
            COMMIT
            """
        )
        // This is after the death of the token, although the clock says before.
        try await scene.registerAgain([again])
        try await scene.feedbackIsHandled(2)
        #expect(try await scene.registered().contains(again))
        #expect(try await scene.registered().contains(live))
        // The next push reports the dead token again, and it is deleted, because its registration is now in the past.
        try await scene.client.run("UPDATE carillon.tokens SET last_update = last_update - interval '1 hour'")
        try await scene.bury([dead])
        try await scene.feedbackIsHandled(3)
        #expect(try await scene.registered() == [live, again])
        #expect(worker.isRunning)
        try await scene.finish()
    }
}
