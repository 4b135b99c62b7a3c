import ApplePush
import FoundationEssentials
import Synchronization
import Testing

/// Pushes that never went out: their senders are told so, and why.
@Suite struct UnsentTests {
    private func message(_ tokens: [String] = ["a1", "b2"]) throws -> Message {
        try Message(tokens: tokens, alert: "Hello", topic: "org.example.app")
    }

    @Test func `a message that no connection takes in time is an error, and not an empty result`() async throws {
        let arrived = AsyncStream.makeStream(of: Void.self)
        try await TestGateway.with(streams: 1) { _ in
            arrived.continuation.yield()
            return []
        } test: { server, gateway in
            try await withBackend {
                $0.totalTimeout = $0.requestTimeout + .milliseconds(200)
            } _: { backend in
                let credential = try TestCredential.certificate()
                async let first = backend.deliver(batch(1), to: gateway, with: credential)
                var iterator = arrived.stream.makeAsyncIterator()
                await iterator.next()
                let connection = Session(backend: backend).connection(to: gateway, credential: credential)
                let error = await #expect(throws: PushError.self) {
                    try await APNs(connection).send(try self.message())
                }
                #expect(error?.code == .timedOut)
                #expect(server.seen.count == 1)
                await backend.shutdown()
                #expect(await first.map(\.verdict) == [.unknown])
            }
        }
    }

    @Test func `a result names the pushes that were not sent, and why`() async throws {
        let failure = PushError(.unreachable, "Nobody is there.")
        let backend = RecordedBackend { $0 == "b2" ? .unreachable(failure) : .delivered }
        let session = Session(backend: backend)
        let connection = session.connection(to: .sandbox, credential: try TestCredential.certificate())
        let result = try await APNs(connection).send(try self.message())
        #expect(result.delivered == 1)
        #expect(result.unsent == ["b2"])
        #expect(result.unsentReason?.message == "Nobody is there.")
        #expect(result.retry()?.tokens == ["b2"])
        let good = try await APNs(connection).send(try self.message(["a1"]))
        #expect(good.unsent.isEmpty)
        #expect(good.unsentReason == nil)
    }

    @Test func `a token that is none is a failure of its own, though nothing else was sent`() async throws {
        let session = Session()
        let nowhere = Gateway(host: "127.0.0.1", port: 1)
        let connection = session.connection(to: nowhere, credential: try TestCredential.certificate())
        let result = try await APNs(connection).send(try self.message(["no token", "nor this"]))
        #expect(result.failed.count == 2)
        #expect(result.unsent.isEmpty)
        await session.shutdown()
    }

    @Test func `a task that was cancelled before it sends has nothing sent, and is told so`() async throws {
        try await TestGateway.with(test: { server, gateway in
            try await withBackend { backend in
                let credential = try TestCredential.certificate()
                let connection = Session(backend: backend).connection(to: gateway, credential: credential)
                // A connection with room stands ready.
                _ = try await APNs(connection).send(try self.message(["00"]))
                let message = try self.message()
                let task = Task {
                    while !Task.isCancelled { await Task.yield() }
                    return try await APNs(connection).send(message)
                }
                task.cancel()
                let error = await #expect(throws: PushError.self) { try await task.value }
                #expect(error?.code == .cancelled)
                _ = try await APNs(connection).send(try self.message(["ff"]))
                #expect(server.seen.map(\.token) == ["00", "ff"])
            }
        })
    }

    @Test(.timeLimit(.minutes(1))) func `however many shut a session down, each call returns`() async throws {
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

    @Test(.timeLimit(.minutes(1))) func `a shutdown does not wait for a slow supply of provider tokens`() async throws {
        let asked = AsyncStream.makeStream(of: Void.self)
        let supplied = AsyncStream.makeStream(of: Void.self)
        let ended = AsyncStream.makeStream(of: Void.self)
        try await TestGateway.with(test: { server, gateway in
            try await withBackend { backend in
                let credential = try TestCredential.providerToken { _, _ in
                    asked.continuation.yield()
                    var gate = supplied.stream.makeAsyncIterator()
                    await gate.next()
                    ended.continuation.yield()
                    return ProviderToken(jwt: "late", issuedAt: Int64(Date().timeIntervalSince1970))
                }
                let connection = Session(backend: backend).connection(to: gateway, credential: credential)
                let message = try self.message()
                let sending = Task { try await APNs(connection).send(message) }
                var iterator = asked.stream.makeAsyncIterator()
                await iterator.next()
                await backend.shutdown()
                let error = await #expect(throws: PushError.self) { try await sending.value }
                #expect(error?.code == .shutDown)
                // The token comes at last, to nobody.
                supplied.continuation.yield()
                var end = ended.stream.makeAsyncIterator()
                await end.next()
                #expect(server.seen.isEmpty)
            }
        })
    }
}
