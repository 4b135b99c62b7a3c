import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// What takes long must not stand before heartbeats and settlements.
@Suite(.queue) struct MaintenanceTests {
    @Test
    func `maintenance that meets a lock leaves that step for later, and keeps no heartbeat waiting`() async throws {
        let lease = "SELECT extract(epoch FROM max(lease_until)) * 1000 FROM carillon.workers"
        let failing = "SELECT count(*) FROM carillon.maintenance m WHERE m.last_failure > m.last_success"
        let other = try await PostgresConnection.connect(queue.database.url, on: queue.loop, application: "other")
        // Maintenance forgets old broadcasts; nothing else that these messages need is locked.
        try await other.script("BEGIN; LOCK TABLE carillon.split_messages IN ACCESS EXCLUSIVE MODE")
        let backend = RecordedBackend()
        let worker = queue.worker(backend) { options in
            options.lease = .milliseconds(600)
            options.retention = .seconds(7200)
        }
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("one step has failed") {
                try await queue.database.rows(
                    "SELECT action, target, last_error FROM carillon.maintenance WHERE last_failure IS NOT NULL"
                )
                    == [#"(delete,split_messages,"canceling statement due to lock timeout")"#]
            }
            // It lives on for several leases, and sends what comes.
            let before = try await queue.database.number(lease)
            try await queue.database.run(
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{\"aps\":{}}')"
            )
            try await queue.loop.eventually("the lease is renewed and the message settled") {
                let now = try await queue.database.number(lease)
                let settled = try await queue.database.number("SELECT count(*) FROM carillon.results")
                return now - before > 1800 && settled == 1
            }
            try await other.script("ROLLBACK")
            try await queue.loop.eventually("the run ends, and the next comes within minutes, not within the hour") {
                try await queue.database.number(
                    "SELECT count(*) FROM carillon.fleet_tasks WHERE name = 'maintain' AND next_run < now() + interval '6 minutes'"
                ) == 1
            }
            try await queue.database.run("UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'maintain'")
            try await queue.loop.eventually("that step is done too") {
                try await queue.database.number(failing) == 0
            }
            // CALL carillon.maintain() keeps what the worker keeps.
            let retention = "SELECT c.retention FROM carillon.fleet_tasks c WHERE c.name = 'maintain'"
            #expect(try await queue.database.value(retention) == "02:00:00")
            worker.drain()
        }
        await other.close()
        #expect(report.isClean)
        #expect(backend.sent.map(\.token) == ["aa"])
    }

    @Test func `an error that says nothing of a step ends the run, instead of one error for each step`() async throws {
        let name = try #require(try await queue.database.value("current_database()"))
        try await queue.database.run(
            """
            REVOKE EXECUTE ON FUNCTION carillon.maintain_step FROM carillon_worker;
            INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{"aps":{}}')
            """
        )
        func errors() async throws -> Int {
            try await TestCluster.log(of: name).count { $0.contains("denied for function maintain_step") }
        }
        let worker = queue.worker(RecordedBackend()) { options in
            options.lease = .seconds(2)
        }
        _ = try await queue.running(worker) {
            try await queue.loop.eventually("a step was refused") { try await errors() > 0 }
            let renewed =
                "SELECT count(*) FROM carillon.workers WHERE heartbeat_at > '\(try await Self.now(in: queue))'"
            try await queue.loop.eventually("the worker lives on") { try await queue.database.number(renewed) == 1 }
            worker.drain()
        }
        #expect(try await errors() == 1)
    }

    private static func now(in queue: TestQueue) async throws -> String {
        try await queue.database.value("SELECT clock_timestamp()") ?? ""
    }
}
