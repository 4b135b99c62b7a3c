import ApplePush
import CarillonIO
import FoundationEssentials
import Synchronization
import TestSupport
import Testing

/// Pushes that were not sent, and why.
@Suite struct UnsentReasonTests {
    private func message(_ tokens: [String] = ["a1", "b2"]) throws -> Message {
        try Message(tokens: tokens, alert: "Hello", topic: "org.example.app")
    }

    @Test func `a message that no connection takes in time throws an error`() async throws {
        let arrived = Gate()
        try await TestGateway.withBackend(streams: 1) {
            $0.totalTimeout = $0.requestTimeout + .milliseconds(200)
        } _: { _ in
            arrived.open()
            return []
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            // On a busy machine, connecting takes longer than a push may wait here.
            while backend.traffic.connections == 0 { await backend.prepare(for: gateway, with: credential) }
            async let first = backend.deliver(batch(1), to: gateway, with: credential)
            await arrived.pass()
            let apns = try APNs(backend, to: gateway, with: credential)
            let error = await #expect(throws: PushError.self) {
                try await apns.send(try message())
            }
            #expect(error?.code == .timedOut)
            #expect(server.seen.count == 1)
            await backend.shutdown()
            #expect(await first.map(\.verdict) == [.unknown])
        }
    }

    @Test func `a message with malformed tokens only returns at once, without a connection`() async throws {
        try await TestGateway.withBackend { _ in
            [.answer(200)]
        } test: { server, gateway, backend in
            let apns = try APNs(backend, to: gateway)
            let result = try await apns.send(try message(["no token", "nor this"]))
            #expect(result.failed.count == 2 && result.unsent.isEmpty)
            #expect(server.connections == 0)
        }
    }

    @Test func `a cancelled send says so in its result, and nothing is sent`() async throws {
        try await TestGateway.accepting { server, gateway, backend in
            let credential = try TestCredential.certificate()
            let connection = Session(backend: backend).connection(to: gateway, credential: credential)
            // A connection has room.
            _ = try await APNs(connection).send(try self.message(["00"]))
            let message = try self.message()
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await APNs(connection).send(message)
            }
            task.cancel()
            let result = try await task.value
            #expect(result.isCancelled && result.unsent == message.tokens)
            #expect(result.retry()?.tokens == message.tokens)
            _ = try await APNs(connection).send(try self.message(["ff"]))
            #expect(server.seen.map(\.token) == ["00", "ff"])
        }
    }

    @Test(.timeLimit(.minutes(5))) func `each of many concurrent shutdowns returns`() async throws {
        try await TestGateway.with { _ in
            []
        } test: { server, gateway in
            let credential = try TestCredential.certificate()
            for round in 1...20 {
                try await withBackend { backend in
                    await withTaskGroup(of: Void.self) { group in
                        for number in 0..<8 {
                            group.addTask {
                                _ = await backend.deliver(batch(1 + number), to: gateway, with: credential)
                            }
                        }
                        while server.connections < round { await Task.yield() }
                        for _ in 0..<8 { group.addTask { await backend.shutdown() } }
                    }
                }
            }
        }
    }

    /// A slow supply of provider tokens.
    private final class Supply: Sendable {
        let asked = Gate()
        let gate = Gate()
        private let forgotten: Gate

        init(forgotten: Gate) { self.forgotten = forgotten }

        /// Nothing refers to it any more.
        deinit { forgotten.open() }

        func token() async -> ProviderToken {
            asked.open()
            await gate.pass()
            return ProviderToken(jwt: "late", issuedAt: Int64(Date().timeIntervalSince1970))
        }
    }

    /// Shuts the backend down while it waits for a token. Returns what releases the token.
    private func shutDown(
        _ backend: HTTP2Backend,
        sendingTo gateway: Gateway,
        of server: TestGateway,
        with supply: Supply
    ) async throws -> Gate {
        let credential = try TestCredential.providerToken { _, _ in await supply.token() }
        let message = try self.message()
        let apns = try APNs(backend, to: gateway, with: credential)
        let sending = Task { try await apns.send(message) }
        await supply.asked.pass()
        while server.connections == 0 { await Task.yield() }
        await backend.shutdown()
        let error = await #expect(throws: PushError.self) { try await sending.value }
        #expect(error?.code == .shutDown)
        return supply.gate
    }

    @Test(.timeLimit(.minutes(5)))
    func `a shutdown does not wait for a slow supply of provider tokens, and no connection is made after it`()
        async throws
    {
        let forgotten = Gate()
        // Loops that outlive the backend, so that a connection could still be made.
        let loops = try EventLoopGroup(count: 1, name: "push")
        defer { loops.shutdown() }
        try await TestGateway.with(test: { server, gateway in
            let backend = HTTP2Backend(HTTP2Configuration(), loops: loops)
            let gate = try await shutDown(backend, sendingTo: gateway, of: server, with: Supply(forgotten: forgotten))
            let connections = server.connections
            // The token arrives after the shutdown.
            gate.open()
            await forgotten.pass()
            // Connections are accepted in order, so one made before this would have been counted.
            try await withBackend { other in
                let outcomes = await other.deliver(batch(1), to: gateway, with: try TestCredential.certificate())
                #expect(outcomes.map(\.verdict) == [.accepted])
            }
            #expect(server.connections == connections + 1)
            #expect(server.seen.count == 1)
        })
    }
}
