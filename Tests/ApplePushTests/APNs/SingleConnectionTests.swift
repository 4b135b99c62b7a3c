import ApplePush
import CarillonIO
import Testing

/// One connection that is not replaced.
@Suite struct SingleConnectionTests {
    @Test func `pushes that find no room on the only connection are blocked at once`() async throws {
        try await TestGateway.withBackend(streams: 4) {
            $0.isSingleConnection = true
        } _: {
            // The first shows that the credential is accepted; later ones hold their streams.
            $0.number == 1 ? [.answer(200)] : []
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(1), to: gateway, with: credential).map(\.verdict) == [.accepted])
            async let held = backend.deliver(batch(4), to: gateway, with: credential)
            while server.seen.count < 5 { await Task.yield() }
            let more = await backend.deliver(batch(2), to: gateway, with: credential)
            #expect(more.map(\.verdict) == [.safe, .safe])
            #expect(more.unsentReason?.code == .blocked)
            await backend.shutdown()
            #expect(await held.map(\.verdict).allSatisfy { $0 == .unknown })
            #expect(server.connections == 1)
        }
    }

    @Test func `after its end every push is refused as closed, and no other connection is made`() async throws {
        try await TestGateway.withBackend {
            $0.isSingleConnection = true
        } _: {
            $0.number == 1 ? [.answer(200), .goAway(last: nil), .close] : []
        } test: { server, gateway, backend in
            let credential = try TestCredential.certificate()
            #expect(await backend.deliver(batch(1), to: gateway, with: credential).map(\.verdict) == [.accepted])
            var ends = server.ends.makeAsyncIterator()
            _ = await ends.next()
            var outcomes = await backend.deliver(batch(1), to: gateway, with: credential)
            // The end may be seen after the push was written.
            if outcomes.unsentReason?.code != .closed {
                outcomes = await backend.deliver(batch(1), to: gateway, with: credential)
            }
            #expect(outcomes.map(\.verdict) == [.safe])
            #expect(outcomes.unsentReason?.code == .closed)
            #expect(server.connections == 1)
        }
    }

    @Test func `a connection that cannot be made says why, and is closed afterwards`() async throws {
        try await withBackend {
            $0.isSingleConnection = true
        } _: { backend in
            let nowhere = Gateway(host: "127.0.0.1", port: 1)
            let credential = try TestCredential.certificate()
            let first = await backend.deliver(batch(1), to: nowhere, with: credential)
            #expect(first.unsentReason?.code == .unreachable)
            let second = await backend.deliver(batch(1), to: nowhere, with: credential)
            #expect(second.unsentReason?.code == .closed)
        }
    }
}
