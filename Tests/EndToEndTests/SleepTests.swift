import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// Workers that have nothing to do.
@Suite struct SleepTests {
    /// A session that is opened before the worker begins.
    private final class OtherSession: Sendable {
        private let guarded = Guarded<PostgresConnection?>(nil)

        var connection: PostgresConnection? { guarded.withLock { $0 } }

        func opened(_ connection: PostgresConnection) { guarded.withLock { $0 = connection } }
    }

    private static let asleep = "SELECT count(*) FROM carillon.worker_status WHERE state = 'asleep'"
    private static let beats = "SELECT coalesce(max(beat), 0) FROM carillon.workers"

    /// A worker with a lease of a minute, so that slow looks are at last half a minute apart.
    private static func running(
        lease: Duration = .seconds(60),
        before begin: (TestQueue) async throws -> Void = { _ in },
        _ body: (TestQueue, RecordedBackend) async throws -> Void
    ) async throws {
        try await TestLoop.with { loop in
            try await TestDatabase.withOwnCluster { database, _ in
                let queue = TestQueue(database: database, loop: loop)
                try await queue.addApp("app", topic: "org.example.app")
                // No task of the fleet is due.
                try await database.run("UPDATE carillon.fleet_tasks SET next_run = now() + every")
                try await begin(queue)
                let backend = RecordedBackend()
                let worker = queue.worker(backend) { $0.lease = lease }
                let summary = try await queue.running(worker) {
                    try await body(queue, backend)
                    worker.drain()
                }
                #expect(summary.isClean && summary.counters[.databaseErrors] == 0)
                let flag =
                    "SELECT coalesce(pg_sequence_last_value('carillon.asleep') > extract(epoch FROM now()), false)"
                #expect(try await database.value(flag) == "false", "the last worker has ended")
            }
        }
    }

    /// Waits until slow looks are half a minute apart, and the next one is more than 20 seconds away. The waits before are 0.1, 1
    /// and 10 seconds.
    private static func sleepsDeeply(_ queue: TestQueue) async throws {
        try await queue.loop.eventually("the worker sleeps deeply") {
            try await queue.database.number(
                """
                SELECT count(*) FROM carillon.worker_status
                WHERE state = 'asleep' AND now() - asleep_since > interval '11.5 s' AND silence < interval '9 s'
                """
            ) == 1
        }
    }

    private static let row = "(app_id, tokens, payload) VALUES (1, '{aabb}', '{\"aps\":{}}')"

    /// Within less time than until the next slow look.
    @Test(arguments: [
        "INSERT INTO carillon.messages \(Self.row)", "SELECT carillon.enqueue('app', '{aabb}', 'x')",
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; INSERT INTO carillon.messages \(Self.row); COMMIT",
        "SELECT carillon.enqueue('app', '{aabb}', 'x', run_at => now() + interval '100 ms')",
    ])
    func `a sleeping worker sends at once what comes`(enqueue: String) async throws {
        try await Self.running { queue, backend in
            try await Self.sleepsDeeply(queue)
            try await queue.database.run(enqueue)
            try await queue.loop.eventually("the push is sent", within: .seconds(20)) { backend.sent.count == 1 }
            try await queue.loop.eventually("the worker sleeps again") {
                let settled = try await queue.database.number("SELECT count(*) FROM carillon.results")
                return try await queue.database.number(Self.asleep) == 1 && settled == 1
            }
        }
    }

    /// It began before the worker slept, so it does not notify. While it is open, the worker looks often.
    @Test func `a transaction that has enqueued before a worker falls asleep is served when it commits`() async throws {
        try await TestLoop.with { loop in
            let session = OtherSession()
            let open: (TestQueue) async throws -> Void = { queue in
                let other = try await PostgresConnection.connect(queue.database.url, on: loop, application: "other")
                session.opened(other)
                try await other.script("BEGIN; INSERT INTO carillon.messages \(Self.row)")
            }
            try await Self.running(before: open) { queue, backend in
                let other = try #require(session.connection)
                try await queue.loop.eventually("the worker sleeps") {
                    try await queue.database.number(Self.asleep) == 1
                }
                // A worker that did not wait for the transaction would have asked three times, and then every half minute.
                let first = try await queue.database.number(Self.beats)
                try await queue.loop.eventually("the worker looks on") {
                    try await queue.database.number(Self.beats) >= first + 20
                }
                #expect(backend.sent.isEmpty)
                try await other.script("COMMIT")
                try await queue.loop.eventually("the push is sent", within: .seconds(20)) { backend.sent.count == 1 }
                await other.close()
            }
        }
    }

    @Test func `a change of an app is used by a sleeping worker`() async throws {
        let pause: (TestQueue) async throws -> Void = { queue in
            try await queue.database.run(
                "UPDATE carillon.apps SET paused = true; INSERT INTO carillon.messages \(Self.row)"
            )
        }
        try await Self.running(before: pause) { queue, backend in
            try await Self.sleepsDeeply(queue)
            try await queue.database.run("UPDATE carillon.apps SET paused = false")
            try await queue.loop.eventually("the push is sent", within: .seconds(20)) { backend.sent.count == 1 }
        }
    }

    @Test(arguments: [true, false])
    func `a worker that wakes reads changes of apps before it sends`(changesWithTheRow: Bool) async throws {
        try await Self.running { queue, backend in
            try await Self.sleepsDeeply(queue)
            let change = "UPDATE carillon.apps SET topic = 'org.example.other'"
            let insert = "INSERT INTO carillon.messages \(Self.row)"
            if changesWithTheRow {
                try await queue.database.run("BEGIN; \(change); \(insert); COMMIT")
            } else {
                // As if another worker had been awake, when nobody notifies.
                try await queue.database.run(
                    "BEGIN; SET LOCAL session_replication_role = replica; \(change); COMMIT; \(insert)"
                )
            }
            try await queue.loop.eventually("the push is sent", within: .seconds(20)) { backend.sent.count == 1 }
            #expect(backend.sent.map(\.topic) == ["org.example.other"])
        }
    }

    /// What the server logs of the worker: one statement for each slow look, which is its heartbeat too.
    @Test func `a sleeping worker sends one statement for each of its heartbeats, and nothing else`() async throws {
        let parameters = ["log_statement": "all", "log_line_prefix": "%a "]
        try await TestLoop.with { loop in
            try await TestDatabase.withOwnCluster(parameters: parameters) { database, cluster in
                let queue = TestQueue(database: database, loop: loop)
                try await queue.addApp("app", topic: "org.example.app")
                try await database.run("UPDATE carillon.fleet_tasks SET next_run = now() + every")
                func statements() throws -> Int {
                    let log = try TemporaryFolder.text(of: cluster.folder + "/server.log")
                    return log.split(separator: "\n").count { $0.hasPrefix("carillon test LOG:  execute ") }
                }
                // With no look in between.
                func counts() async throws -> (beats: Int, statements: Int) {
                    while true {
                        let (beats, sent) = (try await database.number(Self.beats), try statements())
                        if try await database.number(Self.beats) == beats { return (beats, sent) }
                    }
                }
                let worker = queue.worker(RecordedBackend()) { $0.lease = .seconds(1) }
                _ = try await queue.running(worker) {
                    // Slow looks are then two seconds apart.
                    try await loop.eventually("the worker sleeps deeply") {
                        try await database.number(
                            "SELECT count(*) FROM carillon.worker_status WHERE state = 'asleep' AND silence > interval '1.2 s'"
                        ) == 1
                    }
                    let (beats, sent) = try await counts()
                    try await loop.eventually("three slow looks more") {
                        try await database.number(Self.beats) >= beats + 3
                    }
                    let after = try await counts()
                    let looks = after.beats - beats
                    #expect((looks - 1...looks + 1).contains(after.statements - sent))
                    worker.drain()
                }
            }
        }
    }

    @Test func `workers that fall asleep together are woken together, and share what comes`() async throws {
        let count = """
            SELECT (SELECT count(*) FROM carillon.worker_status WHERE state = 'asleep')
                + coalesce(pg_sequence_last_value('carillon.asleep') > extract(epoch FROM now()), false)::integer
            """
        try await TestLoop.with { loop in
            try await TestDatabase.withOwnCluster { database, _ in
                let queue = TestQueue(database: database, loop: loop)
                try await queue.addApp("app", topic: "org.example.app")
                try await database.run("UPDATE carillon.fleet_tasks SET next_run = now() + every")
                let backend = RecordedBackend()
                let workers = ["one", "two", "three"].map { name in
                    queue.worker(backend) { options in
                        options.name = name
                        options.lease = .seconds(60)
                    }
                }
                let runs = workers.map { worker in Task { try await worker.run() } }
                try await attempt {
                    for round in 1...5 {
                        try await loop.eventually("all sleep, and whoever enqueues notifies them") {
                            try await database.number(count) == 4
                        }
                        try await database.run("INSERT INTO carillon.messages \(Self.row)")
                        try await loop.eventually("the push is sent", within: .seconds(20)) {
                            backend.sent.count == round
                        }
                    }
                } finally: {
                    for worker in workers { worker.drain() }
                    for run in runs { _ = await run.result }
                }
            }
        }
    }
}
