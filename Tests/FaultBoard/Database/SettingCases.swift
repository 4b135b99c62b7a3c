import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Wrong or changing schemas, rights and credentials.
@Suite struct SettingCases {
    @Test(.scene)
    func `D15: on a schema that is missing, newer or not permitted, a worker ends with 78 and says why`() async throws {
        try await scene.enqueue(100)
        func refused(_ database: String? = nil, saying text: String) async throws {
            let worker = try scene.fleet.start(database: database)
            #expect(try await worker.end() == .status(78))
            #expect(worker.said.contains(text), "\(worker.said)")
        }
        try await scene.client.run("REVOKE SELECT ON carillon.messages FROM carillon_worker")
        try await refused(saying: "carillon_worker")
        try await scene.client.run("GRANT SELECT ON carillon.messages TO carillon_worker")
        try await scene.client.run("INSERT INTO carillon.schema_migrations (version, name) VALUES (9999, 'later')")
        try await refused(saying: "this program knows versions")
        try await scene.client.run("DELETE FROM carillon.schema_migrations WHERE version = 9999")
        try await TestDatabase.unconnected(.nothing) { empty in
            try await refused(TestLogin.worker.url(empty), saying: "carillon migrate up")
        }
        #expect(scene.record.requests == 0)

        // A right that is revoked at run time is an error in the log, until it is granted again.
        let worker = try await scene.fleet.started()
        try await scene.requests(100)
        try await scene.client.run("REVOKE DELETE ON carillon.messages FROM carillon_worker")
        try await scene.enqueue(500)
        try await worker.says("permission denied")
        try await scene.client.run("GRANT DELETE ON carillon.messages TO carillon_worker")
        try await scene.finish()
    }

    @Test(.scene) func `D18: a changed credential is used within seconds; without one rows wait`() async throws {
        let worker = try await scene.fleet.started()
        try await scene.underLoad {
            try await scene.requests(300)
            let connections = Set(scene.record.deliveries.map(\.connection))
            try await scene.certify([Scene.topic])
            try await scene.eventually(
                "a connection with the new credential",
                within: Board.sized(.seconds(60), full: .seconds(10))
            ) {
                guard let last = scene.record.deliveries.last else { return false }
                return !connections.contains(last.connection)
            }
        }
        try await scene.drained()
        try await scene.client.run("UPDATE carillon.apps SET certificate_id = NULL")
        // The change takes effect after a while: rows are sent one by one until then.
        var sent = scene.record.requests - 1
        try await scene.eventually(
            "a row waits for a credential",
            within: Board.sized(.seconds(60), full: .seconds(15))
        ) {
            guard worker.lines(containing: "has no credential").isEmpty else { return true }
            if scene.record.requests > sent {
                sent = scene.record.requests
                try await scene.enqueue(1)
            }
            return false
        }
        try await scene.eventually("the others were sent") {
            try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0
        }
        sent = scene.record.requests
        let waiting = try await scene.client.number("SELECT count(*) FROM carillon.pending")
        try await scene.enqueue(200)
        try await scene.livesOn(worker, for: .seconds(1))
        #expect(scene.record.requests == sent)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.pending") == waiting + 200)
        try await scene.client.run(
            "UPDATE carillon.apps SET certificate_id = (SELECT c.id FROM carillon.certificates c)"
        )
        try await scene.finish()
    }

    /// Settings of a role or a database for other programs. A new session has this long to set its own, on a busy machine
    /// too.
    private static let hostile = [
        ("DateStyle", "'SQL, DMY'"), ("TimeZone", "'Asia/Kathmandu'"), ("statement_timeout", "'300ms'"),
        ("lock_timeout", "'1ms'"), ("default_transaction_isolation", "'serializable'"), ("enable_indexscan", "on"),
        ("idle_session_timeout", "'2s'"), ("transaction_timeout", "'300ms'"),
    ]

    /// Retries, large rows, maintenance and a takeover, on a database with settings for other programs.
    private static func work(in scene: Scene, over url: String? = nil) async throws {
        let known = try await scene.client.text("SELECT string_agg(s.name, ' ') FROM pg_settings s").lowercased()
        for (name, value) in Self.hostile where known.split(separator: " ").contains(Substring(name.lowercased())) {
            // The pooler's own sessions may be idle.
            if name == "idle_session_timeout", url != nil { continue }
            try await scene.client.run("ALTER DATABASE \(scene.database) SET \(name) = \(value)")
        }
        await scene.client.close()
        try await scene.client.run("UPDATE carillon.fleet_tasks SET next_run = now()")
        var workers: [WorkerProcess] = []
        for _ in 1...2 { workers.append(try scene.fleet.start(lease: Fleet.calm, database: url)) }
        for worker in workers { try await worker.started() }
        try await scene.enqueue(2, tokens: 3000)
        try await scene.enqueue(Board.sized(2000, full: 20_000))
        try await scene.enqueue(50, prefix: "ee")
        try await scene.eventually("maintenance was done") {
            try await scene.client.number(
                "SELECT count(*) FROM carillon.fleet_tasks WHERE name = 'maintain' AND next_run <= now()"
            )
                == 0
        }
        try await scene.drained()
        for worker in workers {
            #expect(worker.lines(containing: "failed and will be tried again").isEmpty, "\(worker.said)")
            #expect(try await worker.metric("carillon_database_errors_total") == 0, "\(worker.said)")
        }
        try await scene.finish()
    }

    @Test
    func `D23: timeouts, isolation and date styles that a database is set to for others break nothing`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ee=503:Shutdown*2")] }) { scene in
            try await Self.work(in: scene)
        }
    }

    @Test(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `D24: neither do they behind PgBouncer, where each transaction has its own settings`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ee=503:Shutdown*2")] }) { scene in
            try await TestPooler.with(size: 4, as: .worker, before: scene.cluster, on: scene.loop) { pooler in
                try await Self.work(in: scene, over: pooler.url(database: scene.database))
            }
        }
    }

    @Test(.scene)
    func `D25: an idle worker without its schema logs it once, retries at growing intervals, and recovers`()
        async throws
    {
        let worker = try await scene.fleet.started(lease: .seconds(5))
        try await scene.enqueue(100)
        try await scene.drained()
        try await scene.client.run("ALTER SCHEMA carillon RENAME TO elsewhere")
        let begin = MonotonicInstant.now
        let before = try await worker.metric("carillon_database_errors_total")
        try await worker.says("failed and will be tried again")
        try await scene.eventually("the worker was not ready", within: Board.sized(.seconds(60), full: .seconds(15))) {
            await !worker.isReady()
        }
        try await scene.eventually("ten seconds have passed") { MonotonicInstant.now - begin >= .seconds(10) }
        let lines = worker.lines(containing: "will be tried again")
        let errors = try await worker.metric("carillon_database_errors_total") - before
        let seconds = Double((MonotonicInstant.now - begin).nanoseconds) / 1e9
        #expect(Double(lines.count) <= 1 + seconds / 30, "\(lines)")
        #expect(errors / seconds < 8)
        try await scene.client.run("ALTER SCHEMA elsewhere RENAME TO carillon")
        try await scene.enqueue(100)
        try await scene.finish()
    }
}
