import ApplePushSimulator
import Testing

/// Apps that do not exist, are not ready, or are deleted while rows wait for them.
@Suite struct AppCases {
    @Test(.scene)
    func `P8: rows of an app that does not exist fail, and those of one that exists are sent`() async throws {
        try await scene.fleet.started()
        let missing = ["2147483647", "-2147483648", "-1", "0", "4711"].map { app in
            OddRow("app_id", app, .refused("UnknownApp"))
        }
        var messages: [Ledger.Message] = []
        for row in missing { messages.append(try await scene.insert(row)) }
        // The row comes before its app, in one transaction.
        let early = scene.message()
        try await scene.client.run(
            """
            BEGIN;
            INSERT INTO carillon.messages (app_id, tokens, payload, reference)
            VALUES (77, '{\(early.tokens[0])}', '\(early.payload)', '\(early.reference)');
            INSERT INTO carillon.apps (id, name, topic, certificate_id, gateway, gateway_ca)
            SELECT 77, 'late', a.topic, a.certificate_id, a.gateway, a.gateway_ca FROM carillon.apps a WHERE a.name = 'board';
            COMMIT
            """
        )
        scene.ledger.committed([early])
        try await scene.enqueue(20)
        let audit = try await scene.finish(localReasons: ["UnknownApp"])
        for message in messages {
            #expect(audit.outcomes.failures[message.reference]?.map(\.reason) == ["UnknownApp"])
        }
        #expect(audit.outcomes.results[early.reference]?.map(\.sent) == [1])
    }

    @Test(.scene)
    func `P19: rows of unknown apps at both ends of the ranges fail, and no row behind them waits`() async throws {
        let rows = ["2147483647", "-2147483648"].flatMap { app in
            ["32767", "-32768"].map { lane in OddRow([("app_id", app), ("lane", lane)], .refused("UnknownApp")) }
        }
        try await scene.fleet.started()
        for row in rows { try await scene.insert(row) }
        try await scene.drained()
        // The same with two workers, among rows of an app that exists.
        try await scene.digest(rows)
        #expect(
            try await scene.client.number("SELECT count(*) FROM carillon.failures WHERE reason = 'UnknownApp'")
                == 2 * rows.count
        )
    }

    @Test func `P8: rows of a paused app wait, others continue, and a resumed app continues`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(20) }) { scene in
            let topic = "com.example.other"
            try await scene.addApp("other", topic: topic, to: scene.simulator)
            let worker = try await scene.fleet.started(["--max-in-flight", "100"])
            // The queue lasts for 20 seconds, so that the pause finds messages in it on any machine.
            try await scene.client.run("UPDATE carillon.apps SET max_rate = 100 WHERE name = 'board'")
            try await scene.enqueue(2000)
            try await scene.requests(100)
            try await scene.client.run("UPDATE carillon.apps SET paused = true WHERE name = 'board'")
            try await scene.quiet(worker)
            let sent = scene.record.requests
            #expect(sent < 2000)
            try await scene.otherAppSends(1)
            #expect(scene.record.requests == sent + 1)
            try await scene.client.run("UPDATE carillon.apps SET paused = false, max_rate = NULL")
            try await scene.drained()
            #expect(scene.record.requests == 2001)
            #expect(try await scene.client.number("SELECT sum(r.sent) FROM carillon.results r") == 2001)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
            #expect(try await scene.fleet.stop() == [])
        }
    }

    @Test func `P8: rows of an app that is deleted meanwhile fail, and pushes in flight are counted`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(50) }) { scene in
            try await scene.fleet.started(["--max-in-flight", "100"])
            try await scene.client.run("UPDATE carillon.apps SET max_rate = 100")
            try await scene.enqueue(1000)
            try await scene.enqueue(3, tokens: 40)
            try await scene.requests(100)
            try await scene.client.run("DELETE FROM carillon.apps WHERE name = 'board'")
            let audit = try await scene.finish(localReasons: ["UnknownApp"])
            #expect(audit.outcomes.failures.count > 0)
            #expect(audit.outcomes.results.values.joined().reduce(0) { $0 + $1.sent } == scene.record.requests)
        }
    }

    @Test(.scene) func `P8: rows of an app without a credential wait for a usable one`() async throws {
        try await scene.addApp("other", topic: "com.example.other", to: scene.simulator)
        try await scene.client.run("UPDATE carillon.apps SET certificate_id = NULL WHERE name = 'board'")
        let worker = try await scene.fleet.started()
        try await scene.enqueue(50)
        try await worker.says("has no credential")
        try await scene.otherAppSends(1)
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.pending") == 50)
        // An unusable credential: its row says so, and nothing is sent or lost.
        try await scene.client.run(
            """
            INSERT INTO carillon.certificates (name, certificate, private_key)
            VALUES ('garbage', E'-----BEGIN CERTIFICATE-----\\nnonsense', 'ü');
            UPDATE carillon.apps SET certificate_id = c.id FROM carillon.certificates c
            WHERE c.name = 'garbage' AND apps.name = 'board'
            """
        )
        try await scene.eventually("the credential is judged") {
            try await scene.client.text("SELECT status FROM carillon.certificates WHERE name = 'garbage'")
                == "invalid"
        }
        try await scene.otherAppSends(2)
        #expect(scene.record.requests == 2)
        try await scene.client.run(
            """
            UPDATE carillon.apps SET certificate_id = c.id FROM carillon.certificates c
            WHERE c.name = 'board' AND apps.name = 'board'
            """
        )
        try await scene.eventually("all were sent") { scene.record.requests == 52 }
        try await scene.drained()
        #expect(
            try await scene.client.number(
                "SELECT sum(r.sent) FROM carillon.results r JOIN carillon.apps a ON a.id = r.app_id WHERE a.name = 'board'"
            ) == 50
        )
        #expect(try await scene.fleet.stop() == [])
    }
}

extension Scene {
    fileprivate func otherAppSends(_ number: Int) async throws {
        let id = try await client.number("carillon.enqueue('other', '{\(Self.token("0f", number))}', 'x')")
        try await eventually("the other app sends") {
            try await client.number("SELECT count(*) FROM carillon.results r WHERE r.message_id = \(id)") == 1
        }
    }

    /// Waits until what was claimed has ended, and nothing more is claimed.
    fileprivate func quiet(_ worker: WorkerProcess) async throws {
        try await eventually("the worker rests") {
            guard try await client.number("SELECT count(*) FROM carillon.inflight") == 0 else { return false }
            let sent = record.requests
            // Checks the tables twice: the worker has read them in between.
            try await livesOn(worker)
            return try await client.number("SELECT count(*) FROM carillon.inflight") == 0
                && record.requests == sent
        }
    }
}
