import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// A server that is killed while workers post webhooks.
@Suite struct WebhookCrashCases {
    /// Where the workers are at that moment: locks and the receiver stop them there.
    private enum Point: CaseIterable {
        /// The claims wait for a lock.
        case claim
        /// The claims have taken their events, and wait for another lock to read them.
        case read
        /// The receiver has the batches. It accepts them after the crash.
        case post
        /// The batches are claimed once more, and a statement that reads their events waits for a lock.
        case repetition
        /// The receiver has accepted the batches, and the settlements wait for a lock.
        case settlement
        /// The settlements are committed.
        case end
    }

    /// How the server ends.
    private enum End: CaseIterable { case killed, stoppedAtOnce }

    private static let webhooks: Set = ["one", "two"]
    private static let maxInFlight = 500
    private static let workers = 2

    private final class Crashes: Sendable {
        private let state = Guarded((count: 0, unsettled: [String: Int]()))

        var count: Int { state.withLock { $0.count } }
        /// After how many of them each batch was not settled, by its id.
        var unsettled: [String: Int] { state.withLock { $0.unsettled } }

        func add(unsettled batches: [String]) {
            state.withLock { state in
                state.count += 1
                for batch in batches { state.unsettled[batch, default: 0] += 1 }
            }
        }
    }

    private let batches = PostedBatches()
    private let crashes = Crashes()

    // MARK: Points

    private func crash(_ scene: Scene, at point: Point, _ end: End) async throws {
        switch point {
        case .claim:
            try await crash(scene, end, in: "carillon.claim_webhooks", before: "untaken_events IN EXCLUSIVE MODE")
        case .read:
            try await crash(scene, end, in: "carillon.claim_webhooks", before: "events IN ACCESS EXCLUSIVE MODE")
        case .post:
            try await enqueueHeld(in: scene)
            try await crash(scene, end)
            batches.release()
        case .repetition:
            try await enqueueHeld(in: scene)
            try await scene.client.session { session in
                // The claims do not wait for it: only the first one of a batch reads events.
                try await session.script("BEGIN; LOCK TABLE carillon.events")
                try await scene.client.run(
                    "UPDATE carillon.webhooks SET next_attempt_at = now(); NOTIFY carillon_events"
                )
                try await scene.waitsForLock("carillon.webhook_batch(")
                batches.release()
                try await crash(scene, end)
            }
        case .settlement:
            try await enqueueHeld(in: scene)
            try await whileLocked(in: scene) { _ in
                batches.release()
                try await scene.waitsForLock("carillon.settle_webhook")
                try await crash(scene, end)
            }
        case .end:
            try await enqueue(in: scene)
            try await posted(in: scene)
            try await crash(scene, end)
        }
        try await posted(in: scene)
    }

    /// Some pushes are retried, so that the events of their messages are in two settlements.
    private func enqueue(in scene: Scene) async throws {
        try await scene.enqueue(100)
        for _ in 0..<20 {
            let (retried, other) = (scene.message(prefix: "ee"), scene.message())
            let both = Ledger.Message(
                reference: other.reference,
                tokens: retried.tokens + other.tokens,
                payload: other.payload,
                mayRepeat: true
            )
            try await scene.enqueue(both)
        }
    }

    /// Returns once the receiver has a batch of each webhook, and answers none.
    private func enqueueHeld(in scene: Scene) async throws {
        batches.hold()
        try await enqueue(in: scene)
        try await scene.eventually("the receiver has the batches") { batches.held == Self.webhooks }
    }

    /// Claims pass over webhooks that are locked, and settlements wait for them.
    private func whileLocked(
        in scene: Scene,
        _ body: @Sendable (PostgresConnection) async throws -> Void
    ) async throws {
        try await scene.client.session { session in
            try await session.script("BEGIN; SELECT FROM carillon.webhooks FOR UPDATE")
            try await body(session)
        }
    }

    /// While a statement of the workers waits for a table.
    private func crash(_ scene: Scene, _ end: End, in statement: String, before table: String) async throws {
        try await whileLocked(in: scene) { first in
            try await enqueue(in: scene)
            try await scene.drained()
            try await scene.client.session { second in
                try await second.script("BEGIN; LOCK TABLE carillon.\(table)")
                try await first.script("ROLLBACK; NOTIFY carillon_events")
                try await scene.waitsForLock(statement)
                try await crash(scene, end)
            }
        }
    }

    private func crash(_ scene: Scene, _ end: End) async throws {
        switch end {
        case .killed: try await scene.cluster.killAndRestart(on: scene.loop)
        case .stoppedAtOnce: try await scene.cluster.restart(.immediate)
        }
        await scene.client.close()
        let left = try await scene.client.query(
            "SELECT w.batch_id::text FROM carillon.webhooks w WHERE w.batch_at < pg_postmaster_start_time()"
        ) { rows in try rows.indices.map { try rows.string($0, 0) } }
        crashes.add(unsettled: left)
        // Claims from before the crash would end a minute after they began.
        try await scene.client.run(
            """
            UPDATE carillon.webhooks SET next_attempt_at = now() WHERE batch_at < pg_postmaster_start_time()
                AND next_attempt_at < pg_postmaster_start_time() + interval '1 minute';
            NOTIFY carillon_events
            """
        )
    }

    /// Waits until all pushes have ended, and the receiver has accepted all events.
    private func posted(in scene: Scene) async throws {
        try await scene.drained()
        try await scene.eventually("the receiver has accepted all events") {
            try await scene.client.number("SELECT count(*) FROM carillon.webhook_status WHERE events > 0") == 0
        }
    }

    // MARK: What the receiver has

    private func check(_ webhook: String, ended: Int, finished: Int) {
        let accepted = batches.accepted.filter { $0.webhook == webhook }
        let unsettled = crashes.unsettled
        for (id, copies) in Dictionary(grouping: accepted, by: \.id) {
            #expect(copies.count <= 1 + unsettled[id, default: 0], "\(webhook): \(id) was settled, and came again")
            #expect(copies.allSatisfy { $0.events == copies[0].events }, "\(webhook): \(id) has changed")
        }
        var known: Set<String> = []
        let events = accepted.filter { known.insert($0.id).inserted }.flatMap(\.events)
        #expect(known.count < accepted.count, "\(webhook): no batch came again")
        #expect(Set(events.map(\.id)).count == events.count, "\(webhook): an event is in two batches")
        #expect(events.count { $0.kind != "finished" } == ended && ended > 0, "\(webhook)")
        #expect(events.count { $0.kind == "finished" } == finished, "\(webhook)")
        for (message, own) in Dictionary(grouping: events, by: \.messageId) {
            let isOrdered = zip(own, own.dropFirst()).allSatisfy { $0.place.lexicographicallyPrecedes($1.place) }
            #expect(isOrdered && own.last?.kind == "finished", "\(webhook): \(message ?? 0): \(own)")
        }
    }

    @Test func `R16: a crash of PostgreSQL loses no event of a webhook, and repeats only batches not settled before`()
        async throws
    {
        try await RawGateway.with(alpn: ["http/1.1"]) { [batches] line in
            try await batches.serve(&line)
        } test: { receiver, port in
            let retries = try AnswerRule(parsing: "ee=500:InternalServerError*1")
            try await Scene.with(on: .own(.crashSafe), { $0.answers = [retries] }) { scene in
                for webhook in Self.webhooks {
                    try await scene.client.run(
                        """
                        SELECT carillon.add_webhook('\(webhook)', '\(Scene.app)', 'https://127.0.0.1:\(port)/\(webhook)',
                            '{sent,failed,expired,finished}', true, '\(receiver.rootPEM)')
                        """
                    )
                }
                let flags = ["--max-in-flight", "\(Self.maxInFlight)"]
                try await scene.fleet.started(Self.workers, flags, lease: Fleet.calm)
                for (number, point) in Point.allCases.enumerated() {
                    let ends = Board.sized([End.allCases[number % End.allCases.count]], full: End.allCases)
                    for end in ends { try await crash(scene, at: point, end) }
                }
                try await scene.underLoad {
                    for _ in 1...Board.sized(1, full: 10) {
                        for end in End.allCases {
                            try await scene.goesOn(200)
                            try await crash(scene, end)
                        }
                    }
                }
                try await posted(in: scene)
                let ended = try await scene.client.number(
                    "SELECT sum(r.sent + r.failed + r.expired) FROM carillon.results r"
                )
                let finished = try await scene.client.number("SELECT count(*) FROM carillon.results")
                for webhook in Self.webhooks { check(webhook, ended: ended, finished: finished) }
                // Claims of jobs are committed asynchronously: after a crash their rows are back, and are sent again.
                try await scene.finish(duplicates: crashes.count * Self.workers * Self.maxInFlight)
            }
        }
    }
}
