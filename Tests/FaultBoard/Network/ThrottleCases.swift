import ApplePushSimulator
import Testing

/// Gateways that throttle one push or all.
@Suite struct ThrottleCases {
    /// The time of each attempt of a push, in milliseconds since 1970.
    private func tries(_ token: String, in scene: Scene) -> [Int64] {
        scene.record.deliveries.filter { $0.token == token }.map(\.time)
    }

    @Test func `A5: a throttled device token waits alone, for as long as the gateway says`() async throws {
        try await Scene.with({
            $0.answers = try ["a5=429:TooManyRequests*2", "a6=429:TooManyRequests+3*1"].map {
                try AnswerRule(parsing: $0)
            }
        }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.addApp("other", topic: Scene.topic, to: scene.simulator)
            let (quick, slow, others) = (
                scene.message(prefix: "a5"), scene.message(prefix: "a6"), scene.message(tokens: 50)
            )
            let mixed = Ledger.Message(
                reference: others.reference,
                tokens: quick.tokens + slow.tokens + others.tokens,
                payload: others.payload,
                mayRepeat: true
            )
            try await scene.enqueue(mixed)
            try await scene.enqueue(200)
            try await scene.enqueue(100, app: "other")
            try await scene.drained()
            let held = try await worker.metric("carillon_app_held")
            #expect(held == 0)
            #expect(worker.lines(containing: "next_attempt_in").isEmpty)
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            // Pushes that were not throttled were sent once, without waiting for those that were.
            #expect(scene.record.requests == 352 + 2 + 1)
            let triesOfSlow = tries(slow.tokens[0], in: scene)
            try #require(triesOfSlow.count == 2)
            #expect(triesOfSlow[1] - triesOfSlow[0] >= 3_000)
            #expect(tries(quick.tokens[0], in: scene).count == 3)
            #expect(others.tokens.allSatisfy { tries($0, in: scene)[0] < triesOfSlow[1] })
        }
    }

    @Test(arguments: ["500:InternalServerError", "503:ServiceUnavailable"])
    func `A6: while the gateway is unavailable no push fails, and afterwards all are sent`(answer: String)
        async throws
    {
        // With one more attempt, pushes may fail by the app's max_attempts.
        let times = Board.sized(5, full: 9)
        let pushes = Board.sized(300, full: 3_000)
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "*=\(answer)*\(times)")] }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(pushes)
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            #expect(scene.record.requests == pushes * (times + 1))
            #expect(worker.lines(containing: "next_attempt_in").isEmpty, "it is no fault of the app's")
        }
    }

    @Test
    func `A6: a gateway that keeps shutting down gets new connections at growing intervals`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "*=503:Shutdown*5")] }) { scene in
            _ = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(20)
            #expect(try await scene.finish().outcomes.failures.isEmpty)
            let connections = Dictionary(grouping: scene.record.deliveries, by: \.connection)
                .sorted { $0.key < $1.key }.map(\.value)
            // After three useless ones in a row there is at most one a second (I9). On a busy machine, the first push of one may
            // come late, which shortens the time to the next.
            var failures = 0
            var rests: [Int64] = []
            for (before, next) in zip(connections, connections.dropFirst()) {
                failures = before.contains { $0.status == 200 } ? 0 : failures + 1
                if failures >= 3 { rests.append(next[0].time - before[0].time) }
            }
            #expect(rests.count > 1 && rests.count { $0 < 1_000 } <= 1, "\(rests) ms")
        }
    }
}
