import ApplePushSimulator
import CarillonIO
import Testing

/// Rights that are revoked from running workers, which PostgreSQL then refuses.
@Suite struct RevokedRightsCases {
    /// Expects few errors while these rights are revoked for some seconds.
    private static func withoutInsert(
        on tables: [String],
        for time: Duration,
        _ worker: WorkerProcess,
        in scene: Scene,
        _ body: () async throws -> Void
    ) async throws {
        let names = tables.map { "carillon.\($0)" }.joined(separator: ", ")
        try await scene.client.run("REVOKE INSERT ON \(names) FROM carillon_worker")
        let (before, began) = (try await worker.metric("carillon_database_errors_total"), MonotonicInstant.now)
        try await body()
        try await worker.says("permission denied")
        try await scene.livesOn(worker, for: time)
        let errors = try await worker.metric("carillon_database_errors_total") - before
        #expect(errors / (Double((MonotonicInstant.now - began).nanoseconds) / 1e9) <= 20)
        try await scene.client.run("GRANT INSERT ON \(names) TO carillon_worker")
    }

    @Test func `D34: claims that are refused are repeated at most 20 times a second, and soon succeed once they may`()
        async throws
    {
        try await Scene.with { scene in
            let login = try await scene.login()
            let worker = try scene.fleet.start(database: login.url)
            try await worker.started()
            try await Self.withoutInsert(on: ["inflight"], for: .seconds(4), worker, in: scene) {
                try await scene.enqueue(500)
            }
            try await scene.requests(500, within: .seconds(15))
            try await scene.finish()
        }
    }

    @Test func `D35: without the right to record or to retry, pushes stay in flight and none ends for that`()
        async throws
    {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ee=429:TooManyRequests*2")] }) { scene in
            let login = try await scene.login()
            let worker = try scene.fleet.start(database: login.url)
            try await worker.started()
            try await Self.withoutInsert(on: ["results", "scheduled"], for: .seconds(6), worker, in: scene) {
                try await scene.enqueue(300)
                try await scene.enqueue(100, prefix: "ee")
            }
            try await scene.drained()
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
            #expect(try await worker.metric("carillon_unrecorded_jobs_total") == 0)
            try await scene.finish()
        }
    }
}
