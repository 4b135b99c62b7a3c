import ApplePush
import Testing

/// Lending a session.
@Suite struct SessionTests {
    private struct Refused: Error {}

    @Test func `a lent session is shut down after the closure has returned, and its value is passed on`() async throws {
        try await TestGateway.with(test: { server, gateway in
            let credential = try TestCredential.certificate()
            let message = try Message(tokens: ["a1"], alert: "Hello", topic: "org.example.app")
            let (result, kept) = try await APNs.withSession { session in
                let apns = APNs(session.connection(to: gateway, credential: credential))
                return (try await apns.send(message), apns)
            }
            #expect(result.accepted == 1)
            let error = await #expect(throws: PushError.self) { try await kept.send(message) }
            #expect(error?.code == .shutDown)
            #expect(server.connections == 1)
        })
    }

    @Test func `a lent session is shut down after the closure has thrown, with that error`() async throws {
        let credential = try TestCredential.certificate()
        let message = try Message(tokens: ["a1"], alert: "Hello", topic: "org.example.app")
        var kept: APNs?
        do throws(Refused) {
            try await APNs.withSession { (session) async throws(Refused) in
                kept = APNs(session.connection(to: .sandbox, credential: credential))
                throw Refused()
            }
            Issue.record("No error was thrown.")
        } catch {}
        let error = await #expect(throws: PushError.self) { try await kept?.send(message) }
        #expect(error?.code == .shutDown)
    }

    @Test func `a prepared connection needs no time for the first push`() async throws {
        try await TestGateway.with(test: { server, gateway in
            try await APNs.withSession { session in
                let connection = session.connection(to: gateway, credential: try TestCredential.certificate())
                await connection.prepare()
                #expect(server.connections == 1)
                let message = try Message(tokens: ["a1"], alert: "Hello", topic: "org.example.app")
                #expect(try await APNs(connection).send(message).accepted == 1)
                #expect(server.connections == 1)
            }
        })
    }
}
