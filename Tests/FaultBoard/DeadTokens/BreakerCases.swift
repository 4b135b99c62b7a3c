import ApplePushSimulator
import TestSupport
import Testing

/// BadDeviceToken is the answer to a dead token, and to every token in the wrong environment.
@Suite struct BreakerCases {
    @Test func `A9: an app most of whose tokens are bad is paused, keeps its tokens and the rest of its queue`()
        async throws
    {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "bb=400:BadDeviceToken")] }) { scene in
            try await scene.client.run("UPDATE carillon.apps SET reap_bad_tokens = true")
            let workers = try await scene.fleet.started(
                2,
                Scene.reaping + ["--max-in-flight", "200"],
                lease: Fleet.calm
            )
            try await scene.enqueue(5000, prefix: "bb")
            try await scene.client.run(
                """
                INSERT INTO carillon.tokens (app_id, token, last_update)
                SELECT m.app_id, m.tokens[1], now() - interval '1 day' FROM carillon.messages m
                """
            )
            let registered = try await scene.registered()
            try await scene.eventually("the app is paused") {
                try await scene.client.text("SELECT s.paused FROM carillon.app_status s") == "true"
            }
            let reason = try await scene.client.text("SELECT s.paused_reason FROM carillon.app_status s")
            #expect(reason.contains("BadDeviceToken") && reason.contains("carillon app resume board"))
            try await scene.eventually("the worker that paused it says so") {
                workers.contains { !$0.lines(containing: "An app was paused").isEmpty }
            }
            // Each worker sees it within a second, and finishes what it has in flight.
            for worker in workers { _ = try await worker.metric("carillon_pushes_total", restsFor: .seconds(3)) }
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0)
            let failed = try await scene.client.number("SELECT count(*) FROM carillon.failures")
            #expect((100..<4000).contains(failed), "\(failed)")
            // Its feedback is never applied, however late the pass is.
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.feedback") == failed)
            try await scene.client.run("UPDATE carillon.feedback SET seen_at = seen_at - interval '6 minutes'")
            try await scene.client.run("UPDATE carillon.push_counts SET minute = minute - interval '6 minutes'")
            try await scene.feedbackIsHandled(failed)
            #expect(try await scene.registered() == registered)
            // After the repair the rest is sent, and what failed can be requeued.
            try await scene.withAnotherGateway {
                try await scene.client.run("UPDATE carillon.apps SET paused = false")
                let audit = try await scene.finish()
                #expect(audit.outcomes.failures.count == failed)
            }
            #expect(try await scene.client.text("SELECT a.paused_reason FROM carillon.apps a") == "")
            #expect(try await scene.registered() == registered)
        }
    }

    @Test func `A9: a few bad device tokens pause no app, and are deleted where the app asks for that`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "bb=400:BadDeviceToken")] }) { scene in
            try await scene.client.run("UPDATE carillon.apps SET reap_bad_tokens = true")
            try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            let bad = (1...50).map { _ in scene.message(prefix: "bb") }
            try await scene.register(bad.flatMap(\.tokens))
            try await scene.enqueue(500)
            for message in bad { try await scene.enqueue(message) }
            try await scene.enqueue(500)
            try await scene.drained()
            try await scene.fleet.stop().forEach { Issue.record("\($0)") }
            // Six minutes later.
            try await scene.client.run(
                """
                UPDATE carillon.feedback SET seen_at = seen_at - interval '6 minutes',
                    unregistered_at = unregistered_at - interval '6 minutes';
                UPDATE carillon.push_counts SET minute = minute - interval '6 minutes'
                """
            )
            #expect(try await scene.registered().count == 50)
            try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await scene.feedbackIsHandled(50)
            #expect(try await scene.registered() == [])
            try await scene.finish()
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.breakers") == 0)
        }
    }
}

extension Scene {
    /// Points the app to another gateway, which knows its device tokens.
    fileprivate func withAnotherGateway(_ body: () async throws -> Void) async throws {
        let record = self.record
        try await APNsSimulator.with({ $0.observer = { event in record.note(event) } }) { gateway in
            try await client.run(
                "UPDATE carillon.apps SET gateway = 'localhost:\(gateway.port)', gateway_ca = '\(gateway.rootPEM)'"
            )
            try await body()
        }
    }
}
