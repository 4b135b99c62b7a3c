import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import FoundationEssentials
import Testing

/// Live Activities: whatever happens, a device shows the newest update.
@Suite struct ActivityCases {
    /// An update as a device receives it.
    private struct Update {
        let token: String
        let stamp: Int64
        let number: Int
        let status: Int?

        init?(_ delivery: ReceivedRequest) {
            let text = String(decoding: delivery.payload, as: UTF8.self)
            guard let found = text.firstMatch(of: #/^{"aps":{"timestamp":(\d+),"event":"update",.*"n":(\d+)/#),
                let stamp = Int64(found.output.1), let number = Int(found.output.2)
            else { return nil }
            token = delivery.token
            self.stamp = stamp
            self.number = number
            status = delivery.status
        }
    }

    private static let activities = 100

    /// Enqueues updates with rising numbers, a transaction each.
    private static func enqueue(_ numbers: ClosedRange<Int>, in scene: Scene) async throws {
        try await scene.client.session { connection in
            try await connection.script(
                """
                DO $$ BEGIN
                    FOR n IN \(numbers.lowerBound)..\(numbers.upperBound) LOOP
                        PERFORM carillon.update_activity('\(Scene.app)', ARRAY['ac' || lpad((n % \(activities))::text, 62, '0')],
                            jsonb_build_object('n', n), reference => 'u' || n);
                        COMMIT;
                    END LOOP;
                END $$
                """
            )
        }
    }

    /// A device shows the update with the latest time: that must be the newest. Every send of an update has the same time.
    private static func check(_ scene: Scene, upTo last: Int) async throws {
        let updates = scene.record.deliveries.compactMap { Update($0) }
        #expect(updates.count == scene.record.requests)
        for (token, sends) in Dictionary(grouping: updates, by: \.token) {
            let stamps = Dictionary(grouping: sends, by: \.number).mapValues { Set($0.map(\.stamp)) }
            #expect(stamps.values.allSatisfy { $0.count == 1 }, "\(token): \(stamps)")
            let order = stamps.sorted { $0.key < $1.key }.compactMap(\.value.first)
            #expect(zip(order, order.dropFirst()).allSatisfy { $0 < $1 }, "\(token): \(stamps)")
            let newest = last - (last - (Int(token.dropFirst(2)) ?? 0)) % activities
            let shown = sends.filter { $0.status == 200 }.max { $0.stamp < $1.stamp }
            #expect(shown?.number == newest, "\(token) shows \(shown?.number ?? 0) of \(newest)")
        }
        #expect(
            try await scene.client.number("SELECT count(*) FROM carillon.results WHERE sent + cancelled = 1") == last
        )
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.updates") == 0)
        #expect(
            try await scene.client.number(
                "SELECT d.deadlocks FROM pg_stat_database d WHERE d.datname = current_database()"
            ) == 0
        )
    }

    private static func end(_ scene: Scene) async throws {
        try await scene.drained()
        for end in try await scene.fleet.stop() { Issue.record("\(end)") }
    }

    @Test(.scene)
    func `P15: of a storm of updates each activity gets the newest, and none that waits behind it`() async throws {
        let count = Board.sized(2000, full: 10_000)
        // They wait: one push for each activity is left.
        try await Self.enqueue(1...count, in: scene)
        try await scene.fleet.started(2, lease: Fleet.calm)
        try await scene.drained()
        #expect(scene.record.requests == Self.activities)
        // They arrive while workers send.
        async let one: Void = Self.enqueue(count + 1...2 * count, in: scene)
        try await one
        try await Self.end(scene)
        try await Self.check(scene, upTo: 2 * count)
    }

    @Test(.scene) func `P15: while a rate holds sending back, updates that arrive faster collapse`() async throws {
        let (count, rate) = (Board.sized(2000, full: 10_000), 20)
        try await scene.client.run("UPDATE carillon.apps SET max_rate = \(rate)")
        try await scene.fleet.started(2, lease: Fleet.calm)
        let clock = ContinuousClock()
        let time = try await clock.measure { try await Self.enqueue(1...count, in: scene) }
        try await Self.end(scene)
        // The pushes that the rate allows for this time and at once, and then one for each activity. A worker may have ordered
        // the updates of two claims.
        let seconds = Int(time.components.seconds) + 1
        #expect(scene.record.requests <= rate * (seconds + 1) + 3 * Self.activities, "\(seconds) s")
        try await Self.check(scene, upTo: count)
    }

    @Test func `P15: a worker that dies with updates in flight leaves their order intact`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ac=503:ServiceUnavailable*3")] }) { scene in
            let count = Board.sized(1000, full: 5000)
            let workers = try await scene.fleet.started(2)
            scene.record.at(50, .received) { workers[0].kill() }
            scene.record.at(300, .received) { workers[1].freeze() }
            try await Self.enqueue(1...count, in: scene)
            try await scene.fleet.started(2)
            try await scene.drained()
            workers[1].resume()
            try await Self.enqueue(count + 1...2 * count, in: scene)
            workers[1].kill()
            try await Self.end(scene)
            try await Self.check(scene, upTo: 2 * count)
        }
    }

    @Test(.enabled(if: FakeTime.isUsable, "no libfaketime (the package faketime), or a sanitizer"))
    func `P15: clocks of workers that are wrong by ten minutes do not matter to the times of updates`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ac=503:ServiceUnavailable*3")] }) { scene in
            for offset in ["+10m", "-10m"] {
                try await scene.fleet.start(shell: FakeTime.shell(offset)).started()
            }
            let count = Board.sized(500, full: 2000)
            for first in stride(from: 1, to: count, by: 250) {
                try await Self.enqueue(first...min(first + 249, count), in: scene)
                try await scene.drained()
            }
            try await Self.end(scene)
            try await Self.check(scene, upTo: count)
            let now = Int64(try await scene.client.number("SELECT floor(extract(epoch FROM now()))"))
            for update in scene.record.deliveries.compactMap({ Update($0) }) {
                #expect(abs(update.stamp - now) < 300)
            }
        }
    }

    @Test(.scene) func `P16: a broadcast reaches one kind of a million tokens`() async throws {
        try await scene.certify(["", ".push-type.widgets", ".push-type.liveactivity"].map { Scene.topic + $0 })
        let count = Board.sized(20_000, full: 1_000_000)
        // One in a hundred starts activities, another is a widget's, and a third has expired.
        try await scene.client.run(
            """
            INSERT INTO carillon.tokens (app_id, token, kind, expires_at)
            SELECT a.id, lpad(to_hex(n), 64, '0'),
                CASE n % 100 WHEN 0 THEN 'push_to_start' WHEN 1 THEN 'widget' ELSE 'device' END,
                CASE n % 100 WHEN 2 THEN now() - interval '1 s' END
            FROM carillon.apps a, generate_series(1, \(count)) n WHERE a.name = '\(Scene.app)'
            """
        )
        for (call, expected) in [
            ("broadcast('\(Scene.app)', 'x')", count * 97 / 100),
            ("broadcast('\(Scene.app)', 'x', push_type => 'widgets')", count / 100),
            ("start_activity('\(Scene.app)', NULL, 'A', '{}', '{}', 'x', everyone => true)", count / 100),
        ] {
            let id = try await scene.client.number("carillon.\(call)")
            #expect(try await scene.client.number("SELECT tokens FROM carillon.broadcast_progress(\(id))") == expected)
            let kinds = """
                SELECT count(DISTINCT k.kind) FROM carillon.messages m, unnest(m.tokens) AS t(token)
                JOIN carillon.tokens k ON k.token = t.token WHERE m.broadcast_id = \(id) AND m.lane = 2
                """
            #expect(try await scene.client.number(kinds) <= 1)
            #expect(try await scene.client.number("carillon.cancel_broadcast(\(id))") > 0)
        }
    }
}
