import ApplePush
import ApplePushSimulator
import Testing

/// Stands before ApplePush's own here, so that the examples send to a simulator.
private enum Gateway {
    @TaskLocal static var production = ApplePush.Gateway.production
}

/// The program of the README, and that of the library's first page.
@Suite struct OverviewExampleTests {
    private let app = App()
    private let p8 = Test.p8
    private let tokens = ["a1", "dead", "5f"].map { $0 + String(repeating: "0", count: 64 - $0.count) }

    private func forget(_ token: String, unlessRegisteredAfter timestamp: Int64?) {
        app.forget(token, unlessRegisteredAfter: timestamp)
    }
    private func later(_ message: APNs.Message, after seconds: Int = 0) { app.later(message, after: seconds) }

    /// A simulator for which one token is dead, and one push fails at first.
    private func withSimulator(_ body: () async throws -> Void) async throws {
        var configuration = SimulatorConfiguration()
        configuration.answers = [
            try AnswerRule(parsing: "dead=410:Unregistered"), try AnswerRule(parsing: "5f=503:ServiceUnavailable"),
        ]
        try await Test.withSimulator(configuration) { simulator, gateway in
            try await Gateway.$production.withValue(gateway) { try await body() }
            #expect(await simulator.statistics().requests == 3)
        }
        #expect(app.retries == [[tokens[2]]])
    }

    @Test func `the program of the README says what was accepted`() async throws {
        try await withSimulator {
            let gateway = Gateway.production  // or .sandbox, or the simulator's
            let credential = try Credential(signingKey: p8, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
            let message = try APNs.Message(tokens: tokens, alert: "Dinner is ready", badge: 1, topic: "com.example.app")

            let result = try await APNs.withSession { session in
                try await APNs(session.connection(to: gateway, credential: credential)).send(message)
            }
            print(result)  // 97 accepted, 2 failed (410 Unregistered), 1 not sent (unreachable)
            for push in result.pushes where !push.isAccepted { print(push) }
            if let retry = result.retry() { later(retry) }  // the tokens to retry, under the same apns-ids

            #expect("\(result)" == "1 accepted, 1 failed (410 Unregistered), 1 rejected (503 ServiceUnavailable)")
        }
    }

    @Test func `the program of the library's first page finds dead tokens`() async throws {
        try await withSimulator {
            let gateway = Gateway.production  // or .sandbox, or one of your own
            let credential = try Credential(signingKey: p8, keyID: "ABCDE12345", teamID: "TEAM567890")
            let message = try APNs.Message(
                tokens: tokens,
                alert: ["title": "Dinner", "body": "The soup is ready."],
                badge: 1,
                extra: ["table": 7],
                expiry: .after(.seconds(3600)),
                topic: "org.example.app"
            )

            let result = try await APNs.withSession { session in
                try await APNs(session.connection(to: gateway, credential: credential)).send(message)
            }
            print(result)  // 97 accepted, 2 failed (410 Unregistered), 1 not sent (unreachable)
            for push in result.pushes where !push.isAccepted { print(push.token, push.id, push) }
            for dead in result.feedback { forget(dead.token, unlessRegisteredAfter: dead.timestamp) }
            if let retry = result.retry() { later(retry, after: result.retryAfter ?? 10) }

            #expect(app.forgotten == [tokens[1]])
        }
    }
}
