import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Locks of other sessions, held for longer than a lease: no worker loses its lease, nothing is sent twice, and other apps are
/// served.
@Suite struct LockCases {
    private static let lease = Duration.seconds(8)
    /// How long the lock is held: several leases.
    private static let hold = Board.sized(Duration.seconds(20), full: .seconds(44))
    private static let other = "other"

    /// Pushes of an app that does not need the lock arrive within a lease, until the lock was held for long enough. On a busy machine
    /// they may take longer, but not for as long as the lock is held.
    private static func othersGoOn(in scene: Scene) async throws {
        let end = MonotonicInstant.now + Self.hold
        var slowest = Duration.zero
        while MonotonicInstant.now < end {
            let begin = MonotonicInstant.now
            let before = scene.record.requests(to: "bb")
            try await scene.enqueue(20, prefix: "bb", app: Self.other)
            try await scene.eventually("the other app's pushes went out") {
                scene.record.requests(to: "bb") >= before + 20
            }
            slowest = max(slowest, MonotonicInstant.now - begin)
        }
        #expect(slowest < Self.lease)
    }

    private static func nobodyLostALease(in scene: Scene) {
        for worker in scene.fleet.all {
            #expect(worker.lines(containing: "considered this worker dead").isEmpty, "\(worker.name)")
            #expect(worker.lines(containing: "Took over the jobs").isEmpty, "\(worker.name)")
        }
    }

    @Test(.scene)
    func `D19: CREATE INDEX on results costs no worker its lease, and nothing is sent twice`() async throws {
        try await scene.fleet.started(2, ["--max-in-flight", "500"], lease: Self.lease)
        try await scene.enqueue(200)
        try await scene.drained()
        try await scene.client.session { session in
            // The lock of CREATE INDEX.
            try await session.script("BEGIN; LOCK TABLE carillon.results IN SHARE MODE")
            try await scene.enqueue(Board.sized(5000, full: 38_000))
            try await scene.requests(200 + 500)
            let late = try await scene.fleet.started(["--max-in-flight", "500"], lease: Self.lease)
            try await scene.transactionIsOpen(for: Self.hold)
            // Each worker goes on with its heartbeats.
            for worker in scene.fleet.all { try await scene.livesOn(worker) }
            try await scene.eventually("the latecomer is ready", within: Board.sized(.seconds(30), full: .seconds(5))) {
                await late.isReady()
            }
            try await session.script("COMMIT")
        }
        try await scene.finish()
        Self.nobodyLostALease(in: scene)
    }

    @Test(.scene) func `D20: an open change of a dead app's certificate stops no other app, and is written down later`()
        async throws
    {
        try await scene.addApp(Self.other, topic: Scene.topic, to: scene.simulator)
        try await scene.client.run(
            """
            UPDATE carillon.apps SET gateway = 'localhost:1' WHERE name = '\(Scene.app)';
            UPDATE carillon.certificates SET certificate = certificate || E'\\n' WHERE name = '\(Scene.app)'
            """
        )
        try await scene.enqueue(20)
        try await scene.client.session { session in
            // No worker has read the credential since it was changed, so each has something to write into its row.
            try await session.script(
                "BEGIN; UPDATE carillon.certificates SET name = name || '' WHERE name = '\(Scene.app)'"
            )
            try await scene.fleet.started(2, lease: Self.lease)
            try await Self.othersGoOn(in: scene)
            let silent = "SELECT count(*) FROM carillon.certificates WHERE name = 'board' AND not_after IS NULL"
            #expect(try await scene.client.number(silent) == 1)
            try await session.script("ROLLBACK")
            // Its own gateway cannot be reached, which is recorded as well.
            try await scene.eventually(
                "it is written what the credential is and how the app fares",
                within: Board.sized(.seconds(60), full: .seconds(20))
            ) {
                try await scene.client.number(
                    """
                    SELECT count(*) FROM carillon.certificates c JOIN carillon.apps a ON a.certificate_id = c.id
                    JOIN carillon.holds h ON h.app_id = a.id
                    WHERE a.name = '\(Scene.app)' AND c.not_after IS NOT NULL AND c.last_error IS NULL
                    """
                ) == 1
            }
        }
        try await scene.client.run(
            "UPDATE carillon.apps SET gateway = 'localhost:\(scene.simulator.port)' WHERE name = '\(Scene.app)'"
        )
        try await scene.finish()
        Self.nobodyLostALease(in: scene)
    }

    @Test func `D21: an uncommitted cancel of a message in flight delays that message only`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(500) }) { scene in
            try await scene.addApp(Self.other, topic: Scene.topic, to: scene.simulator)
            // Too large for one job: a worker splits it, and all jobs update one row.
            try await scene.enqueue(1, tokens: 4000)
            let id = try await scene.client.number("SELECT m.id FROM carillon.messages m")
            try await scene.fleet.started(2, lease: Self.lease)
            try await scene.requests(1500)
            try await scene.client.session { session in
                try await session.script("BEGIN; SELECT carillon.cancel(\(id))")
                // Other messages of its app are sent too.
                try await scene.enqueue(100, prefix: "aa")
                try await scene.eventually("the app's other messages were sent") {
                    scene.record.requests(to: "aa") >= 100
                }
                try await Self.othersGoOn(in: scene)
                for worker in scene.fleet.all { try await scene.livesOn(worker) }
                try await session.script("COMMIT")
            }
            try await scene.finish()
            Self.nobodyLostALease(in: scene)
        }
    }

    /// All rows of a table, and whether every push needs them.
    @Test(arguments: [
        ("apps WHERE name = 'board'", false), ("unfinished", false), ("scheduled", false), ("inflight", false),
        ("fleet_tasks", false), ("workers", true),
    ])
    func `D22: locked rows cost no worker its lease, and delay only what needs them`(
        rows: String,
        isNeededByAll: Bool
    ) async throws {
        try await Scene.with({ $0.delay = .milliseconds(300) }) { scene in
            try await scene.addApp(Self.other, topic: Scene.topic, to: scene.simulator)
            try await scene.fleet.started(2, lease: Self.lease)
            try await scene.enqueue(2, tokens: 1500)
            try await scene.requests(500)
            try await scene.client.session { session in
                try await session.script("BEGIN; SELECT FROM carillon.\(rows) FOR UPDATE")
                if isNeededByAll {
                    try await scene.transactionIsOpen(for: Self.hold)
                } else {
                    try await Self.othersGoOn(in: scene)
                }
                try await session.script("COMMIT")
            }
            try await scene.enqueue(100)
            try await scene.finish()
            Self.nobodyLostALease(in: scene)
        }
    }
}
