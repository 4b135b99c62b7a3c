import IO
import Simulator
import TestSupport
import Testing

/// What a worker does not survive.
@Suite struct PoisonCases {
    private static let culprit = """
        SELECT coalesce(min(w.pid), 0) FROM carillon.inflight f JOIN carillon.workers w ON w.id = f.worker_id
        WHERE EXISTS (SELECT FROM unnest(f.jobs) j, unnest(j.tokens) t WHERE t LIKE 'dead%')
        """

    @Test func `W12, P5: a push that kills its worker is convicted after five, and all others arrive`() async throws {
        // As though sending to that token crashed the program: whoever has it in flight is killed.
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "dead=silence")] }) { scene in
            let most = 60
            try await scene.fleet.started(2, ["--max-in-flight", "\(most)"])
            try await scene.enqueue(300)
            try await scene.enqueue(1, prefix: "dead")
            try await scene.enqueue(Board.sized(300, full: 3000))
            var kills = 0
            while kills < 6, let victim = try await self.victim(of: scene, after: kills) {
                victim.kill()
                try await victim.end()
                kills += 1
                try await scene.fleet.started(["--max-in-flight", "\(most)"])
            }
            #expect(kills == 5)
            // Three times its neighbours may have been in flight with it; then it is sent alone.
            try await scene.finish(duplicates: most * 3, localReasons: ["Poison"])
            let convicted = "SELECT string_agg(left(f.token, 4) || ' ' || f.reason, ', ') FROM carillon.failures f"
            #expect(try await scene.client.text(convicted) == "dead Poison")
        }
    }

    /// Whoever has the push in flight when the gateway has seen it once more than that; nil: it was convicted.
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
