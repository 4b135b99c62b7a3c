import ApplePush
import Postgres
import PushQueue
import TestSupport
import Testing

/// What takes long must not stand before heartbeats and settlements.
@Suite struct ErrandTests {
    @Test func `a chore that waits for a lock keeps no heartbeat waiting`() async throws {
        try await Queue.with { queue in
            try await queue.run("UPDATE carillon.chores SET next_run = now() WHERE name = 'maintain'")
            let lease = "SELECT extract(epoch FROM max(lease_until)) * 1000 FROM carillon.workers"
            let other = try await PostgresConnection.connect(queue.url, on: queue.loop, application: "other")
            // maintain() forgets old broadcasts; nothing else that these messages need is locked.
            try await other.script("BEGIN; LOCK TABLE carillon.broadcasts IN ACCESS EXCLUSIVE MODE")
            let backend = RecordedBackend()
            let worker = queue.worker(backend) { $0.lease = .milliseconds(600) }
            let run = Task { try await worker.run() }
            try await queue.loop.eventually("maintain() waits for the lock") {
                try await queue.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'") > 0
            }
            // It lives on for several leases, and sends what comes.
            let before = try await queue.number(lease)
            try await queue.run(
                "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa}', '{\"aps\":{}}')"
            )
            try await queue.loop.eventually("the lease is renewed and the message settled") {
                let now = try await queue.number(lease)
                let settled = try await queue.number("SELECT count(*) FROM carillon.results")
                return now - before > 1800 && settled == 1
            }
            try await other.script("ROLLBACK")
            worker.drain()
            let report = try await run.value
            await other.close()
            #expect(report.isClean)
            #expect(backend.sent.map(\.token) == ["aa"])
        }
    }
}
