import ApplePush
import ApplePushSimulator
import TestSupport
import Testing

/// Messages with an alert for each locale, against the simulator.
@Suite struct LocalizedPushTests {
    private static func token(_ start: String) -> String { start + String(repeating: "0", count: 62) }

    @Test func `a device gets the alert of its locale, and keeps it in retries`() async throws {
        let rules = ["a1=503:ServiceUnavailable*1", "b1=400:BadTopic*1"]
        try await TestQueue.with(simulator: { $0.answers = try rules.map { try AnswerRule(parsing: $0) } }) {
            queue,
            simulator in
            for (token, locale) in [("a1", "'de-AT'"), ("a2", "'de'"), ("b1", "'fr_CA'"), ("c1", "NULL")] {
                try await queue.database.run(
                    """
                    INSERT INTO carillon.tokens (app_id, token, locale) VALUES (1, '\(Self.token(token))', \(locale))
                    """
                )
            }
            try await queue.database.run(
                #"""
                SELECT carillon.broadcast('app',
                    bodies => '{"default": "Hello", "de": "Hallo", "de-AT": "Servus", "fr": {"title": "Salut"}}')
                """#
            )
            let backend = HTTP2Backend(.longTimeouts)
            try await queue.drain(backend)
            try await queue.database.run(
                "UPDATE carillon.scheduled SET run_at = now(); SELECT carillon.requeue_failures('app')"
            )
            try await queue.drain(backend)
            await backend.shutdown()
            let shown = await simulator.receivedRequests().map { request in
                "\(request.token.prefix(2)) \(request.status ?? 0) \(String(decoding: request.payload, as: UTF8.self))"
            }
            #expect(
                shown.sorted() == [
                    #"a1 200 {"aps":{"alert":"Servus"}}"#, #"a1 503 {"aps":{"alert":"Servus"}}"#,
                    #"a2 200 {"aps":{"alert":"Hallo"}}"#, #"b1 200 {"aps":{"alert":{"title":"Salut"}}}"#,
                    #"b1 400 {"aps":{"alert":{"title":"Salut"}}}"#, #"c1 200 {"aps":{"alert":"Hello"}}"#,
                ]
            )
        }
    }
}
