import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Processes of the database that are suspended, while the kernel still acknowledges packets.
@Suite struct SuspensionCases {
    /// Sessions of workers.
    private static let sessions = """
        SELECT a.pid FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.application_name LIKE 'carillon%'
        """

    /// The worker leaves a database whose processes are suspended under load, and uses it again once they resume. Statements that
    /// it had sent to them then run late.
    private static func leaves(
        _ worker: WorkerProcess,
        in scene: Scene,
        _ suspend: (Suspension) async throws -> Void
    ) async throws {
        try await worker.started()
        try await scene.underLoad {
            try await scene.goesOn(500)
            try await Suspension.with(on: scene.loop) { suspension in
                try await suspend(suspension)
                try await worker.says(SilenceCases.silence, within: SilenceCases.limit)
                try await scene.eventually("the worker was not ready") { await !worker.isReady() }
            }
            try await scene.goesOn(within: Board.sized(.seconds(60), full: .seconds(30)))
        }
        try await scene.finish(duplicates: 500)
    }

    @Test
    func `D44: a PostgreSQL whose processes are all suspended is left within a lease and five seconds, and used again`()
        async throws
    {
        try await Scene.with(on: .own(.fast)) { scene in
            let worker = try scene.fleet.start(["--max-in-flight", "500"])
            try await Self.leaves(worker, in: scene) { try await $0.add(server: scene.cluster) }
        }
    }

    /// The server itself keeps running, and accepts the worker again.
    @Test func `D45: a worker with suspended sessions continues in others, and what they do later changes nothing`()
        async throws
    {
        var settings = PrivateCluster.Settings.fast
        // The worker does not sleep there, so it looks and renews its lease all the time.
        settings.parameters = ["max_prepared_transactions": "1"]
        try await Scene.with(on: .own(settings)) { scene in
            let worker = try await scene.fleet.started()
            try await scene.enqueue(100)
            try await scene.drained()
            let sessions = try await scene.client.query(Self.sessions) { rows in
                try rows.indices.map { try rows.int32($0, 0) }
            }
            #expect(sessions.count >= 2)
            try await Suspension.with(on: scene.loop) { suspension in
                try await suspension.add(idle: sessions)
                try await scene.enqueue(100)
                try await worker.says(SilenceCases.silence, within: SilenceCases.limit)
                try await scene.requests(200, within: Board.sized(.seconds(60), full: .seconds(15)))
                try await scene.drained()
            }
            try await scene.finish()
        }
    }

    @Test(.scene, .enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `D46: a pooler that is suspended is left within a lease and five seconds, and used again once it continues`()
        async throws
    {
        try await TestPooler.with(size: 4, as: .worker, before: scene.cluster, on: scene.loop) { pooler in
            let url = pooler.url(database: scene.database)
            let worker = try scene.fleet.start(["--max-in-flight", "500"], database: url)
            try await Self.leaves(worker, in: scene) { try await $0.add([pooler.processID]) }
        }
    }
}
