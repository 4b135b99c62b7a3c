import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Pushes that kill workers.
@Suite struct PoisonCases {
    private static let culprit = """
        SELECT coalesce(min(w.pid), 0) FROM carillon.inflight f JOIN carillon.workers w ON w.id = f.worker_id
        WHERE EXISTS (SELECT FROM unnest(f.jobs) j, unnest(j.tokens) t WHERE t LIKE 'dead%')
        """

    @Test func `W12, P5: a push that kills its worker is quarantined and fails, and all others arrive`() async throws {
        // As if sending to that device token crashed the program: the worker that has it in flight is killed.
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "dead=silence")] }) { scene in
            let most = 60
            try await scene.fleet.started(2, ["--max-in-flight", "\(most)"])
            try await scene.enqueue(300)
            try await scene.enqueue(1, prefix: "dead")
            try await scene.enqueue(Board.sized(300, full: 3000))
            var kills = 0
            while kills < 10, let victim = try await self.victim(of: scene, after: kills) {
                victim.kill()
                try await victim.end()
                kills += 1
                try await scene.fleet.started(["--max-in-flight", "\(most)"])
            }
            // Three times with its neighbours, then with half of them, and so on; twice alone.
            #expect(5...9 ~= kills)
            try await scene.finish(duplicates: most * 4, localReasons: ["Poison"])
            let convicted = "SELECT string_agg(left(f.token, 4) || ' ' || f.reason, ', ') FROM carillon.failures f"
            #expect(try await scene.client.text(convicted) == "dead Poison")
        }
    }

    @Test
    func `W18: pushes in flight of three killed workers arrive within seconds, and delay nothing`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(400) }) { scene in
            let most = Board.sized(2000, full: 8000)
            let flags = ["--max-in-flight", "\(most)"]
            try await scene.enqueue(most)
            for _ in 0..<3 {
                let victim = try await scene.fleet.started(flags)
                // Enough for three times that, since a slow machine may settle all that was received before the kill.
                scene.record.at(most / 4, .received) { victim.kill() }
                try await victim.end()
            }
            try await scene.enqueue(200, prefix: "bebe")
            let heir = try await scene.fleet.started(flags)
            try await heir.says("Took over the jobs")
            let begin = MonotonicInstant.now
            try await scene.drained()
            let took = MonotonicInstant.now - begin
            #expect(took < .seconds(30), "it took \(took)")
            let deliveries = scene.record.deliveries
            let lastBehind = try #require(deliveries.lastIndex { $0.token.hasPrefix("bebe") })
            let lastSuspect = try #require(deliveries.lastIndex { !$0.token.hasPrefix("bebe") })
            #expect(lastBehind < lastSuspect)
            try await scene.finish(duplicates: most * 3)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
        }
    }

    /// The worker that has the push in flight when the gateway has received it once more than that; nil: the push has failed.
    private func victim(of scene: Scene, after kills: Int) async throws -> WorkerProcess? {
        var victim: WorkerProcess?
        try await scene.eventually("the push was tried again, or convicted") {
            guard try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0 else { return true }
            guard scene.record.requests(to: "dead") > kills else { return false }
            let processID = try await scene.client.number(Self.culprit)
            victim = scene.fleet.running.first { $0.processID == processID }
            return victim != nil
        }
        return victim
    }
}
