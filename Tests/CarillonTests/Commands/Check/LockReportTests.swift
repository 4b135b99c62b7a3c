import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// Locks of others, as a worker's log and `check` tell of them.
@Suite(.shop) struct LockReportTests {
    private static let nightly = "(nightly, user postgres, idle in transaction)"
    /// As a worker's login sees it, without pg_read_all_stats.
    private static let nightlyToWorkers = "(nightly, user postgres)"

    /// What somebody runs who works on the database and leaves it open.
    private static func holding(
        _ sql: String,
        in shop: Shop,
        _ body: (_ pid: Int, PostgresConnection) async throws -> Void
    ) async throws {
        let other = try await PostgresConnection.connect(shop.database.url, application: "nightly")
        try await attempt {
            try await other.script("BEGIN; " + sql)
            let pid = try await other.query(Statement("pid", "SELECT pg_backend_pid()::int8")) { try $0.int64(0, 0) }
            try await body(Int(pid), other)
        } finally: {
            await other.close()
        }
    }

    @Test func `a worker that meets the lock on a table says whose it is, and settles when it is gone`() async throws {
        try await Self.holding("LOCK TABLE carillon.results IN SHARE MODE", in: shop) { pid, other in
            try await shop.enqueue(3)
            try await TestLoop.with { loop in
                let worker = try shop.start("worker")
                let line = try await worker.line(containing: "timed out on a lock that another session holds", on: loop)
                let holder = "process \(pid) \(Self.nightlyToWorkers) has locked carillon.results"
                #expect(line.contains(#""level":"warning""#) && line.contains("statement settle"), "\(line)")
                #expect(line.contains(holder), "\(line)")
                try await other.script("COMMIT")
                try await loop.eventually("the pushes are settled") {
                    try await shop.database.number("SELECT coalesce(sum(sent), 0)::int8 FROM carillon.results") == 3
                }
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `a prepared transaction that has locked a table is named`() async throws {
        try await TestDatabase.withOwnCluster(parameters: ["max_prepared_transactions": "1"]) { database, _ in
            let lock = "BEGIN; LOCK TABLE carillon.results IN SHARE MODE; PREPARE TRANSACTION 'nightly'"
            try await database.connection.script(lock)
            try await TestLoop.shared.eventually("check names it") {
                let run = try await ProgramRun.run(["check"], environment: ["DATABASE_URL": database.url])
                return run.output.contains("The prepared transaction 'nightly' has locked carillon.results")
            }
        }
    }

    @Test func `a worker that meets the lock on a row names the table and who has written to it`() async throws {
        // The worker writes down what it reads in a credential.
        let lock = "UPDATE carillon.certificates SET status = NULL"
        try await shop.database.connection.script(lock)
        try await Self.holding(lock, in: shop) { pid, other in
            try await TestLoop.with { loop in
                let worker = try shop.start("worker")
                let line = try await worker.line(containing: "timed out on a lock that another session holds", on: loop)
                let holder = "process \(pid) \(Self.nightlyToWorkers) may have locked rows of carillon.certificates"
                #expect(line.contains(holder), "\(line)")
                try await other.script("COMMIT")
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `a step of maintenance that meets a lock says whose it is`() async throws {
        try await Self.holding("LOCK TABLE carillon.cancelled IN SHARE MODE", in: shop) { pid, _ in
            try await TestLoop.with { loop in
                let worker = try shop.start("worker")
                let line = try await worker.line(containing: "A maintenance step", on: loop)
                #expect(line.contains("failed on a lock that another session holds"), "\(line)")
                #expect(line.contains(#""step":"delete cancelled""#), "\(line)")
                let holder = "process \(pid) \(Self.nightlyToWorkers) has locked carillon.cancelled"
                #expect(line.contains(holder), "\(line)")
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
            }
        }
    }

    @Test func `a command that waits for a lock says whose it is, and is done when it is gone`() async throws {
        try await Self.holding("UPDATE carillon.apps SET max_rate = 7", in: shop) { pid, other in
            try await TestLoop.with { loop in
                let command = try shop.start("app", "set", "shop", "--max-rate", "5")
                let line = try await command.line(containing: "Waiting for a lock", on: loop)
                #expect(line.contains("process \(pid) \(Self.nightly) holds"), "\(line)")
                try await other.script("COMMIT")
                #expect(try await command.end(on: loop) == .status(0))
                #expect(try await shop.database.number("SELECT max_rate::int8 FROM carillon.apps") == 5)
            }
        }
    }

    @Test func `sending waits no longer for a lock than for the outcome, and enqueues nothing then`() async throws {
        try await Self.holding("LOCK TABLE carillon.messages IN SHARE MODE", in: shop) { _, other in
            let words = ["send", "--app", "shop", "--token", Shop.token("a0"), "--alert", "hi", "--wait", "1500ms"]
            let ended = try await shop.run(words)
            #expect(ended.status == 75, "\(ended.status): \(ended.errors)")
            #expect(ended.errors.contains("Not enqueued in time"), "\(ended.errors)")
            #expect(ended.output.isEmpty, "\(ended.output)")
            try await other.script("COMMIT")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 0)
        }
    }

    @Test func `a query of check that waits in vain for a lock says so, and ends with 75`() async throws {
        try await Self.holding("LOCK TABLE carillon.scheduled IN ACCESS EXCLUSIVE MODE", in: shop) { pid, _ in
            let check = try await shop.run("check")
            #expect(check.status == 75, "\(check.status): \(check.output)")
            #expect(check.output.contains("Check again when it is gone"), "\(check.output)")
        }
    }

    @Test func `check names who has held a lock for long, and who may end it`() async throws {
        #expect(try await shop.run("check").output.contains("ok       locks"))
        try await Self.holding("LOCK TABLE carillon.results IN SHARE MODE", in: shop) { pid, _ in
            try await TestLoop.shared.eventually("the transaction is old enough", every: .milliseconds(200)) {
                try await shop.database.number(
                    """
                    SELECT floor(extract(epoch FROM clock_timestamp() - xact_start))::int8 FROM pg_stat_activity
                    WHERE pid = \(pid)
                    """
                ) > 10
            }
            let check = try await shop.run("check")
            #expect(check.status == 0, "\(check.output)")
            let holder = "Process \(pid) \(Self.nightly) has locked carillon.results for "
            #expect(check.output.contains("warning  locks         " + holder), "\(check.output)")
            #expect(check.output.contains("SELECT pg_terminate_backend(\(pid))"), "\(check.output)")
        }
    }
}
