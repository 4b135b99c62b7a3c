import ApplePush
import CarillonIO
import Testing

/// What an observer is told.
@Suite struct ObserverTests {
    private final class Log: APNs.Observer {
        private struct State {
            var opened = 0
            var ended: [APNs.EndedConnection] = []
            var deliveries: [APNs.EndedDelivery] = []
        }

        private let state = Guarded(State())
        var opened: Int { state.withLock { $0.opened } }
        var ended: [APNs.EndedConnection] { state.withLock { $0.ended } }
        var deliveries: [APNs.EndedDelivery] { state.withLock { $0.deliveries } }

        func connectionOpened(to gateway: Gateway) { state.withLock { $0.opened += 1 } }
        func connectionEnded(_ end: APNs.EndedConnection) { state.withLock { $0.ended.append(end) } }
        func deliveryEnded(_ delivery: APNs.EndedDelivery) { state.withLock { $0.deliveries.append(delivery) } }
    }

    /// Does nothing of its own.
    private struct Idle: APNs.Observer {}

    @Test func `an observer is told of connections and of each delivery's outcomes`() async throws {
        let log = Log()
        try await TestGateway.with {
            $0.token == "00000001" ? [.answer(410, #"{"reason":"Unregistered"}"#)] : [.answer(200)]
        } test: { _, gateway in
            try await withBackend {
                $0.observer = log
            } _: { backend in
                let credential = try TestCredential.certificate()
                _ = await backend.deliver(batch(3), to: gateway, with: credential)
                #expect(log.opened == 1)
                #expect(log.ended.isEmpty)
                await backend.shutdown()
            }
            #expect(log.deliveries.map { $0.outcomes.map(\.status) } == [[200, 410, 200]])
            #expect(log.deliveries.allSatisfy { $0.gateway == gateway && $0.duration > .zero })
            #expect(log.ended.map(\.reason) == ["shutdown"])
            #expect(log.ended.first?.wasOpen == true)
            #expect(log.ended.first?.answered == 3)
            #expect(log.ended.first?.error == nil)
        }
    }

    @Test func `an observer is told why no connection could be made`() async throws {
        let log = Log()
        try await withBackend {
            $0.observer = log
        } _: { backend in
            let nowhere = Gateway(host: "127.0.0.1", port: 1)
            let outcomes = await backend.deliver(batch(2), to: nowhere, with: try TestCredential.certificate())
            #expect(outcomes.map(\.verdict) == [.safe, .safe])
        }
        #expect(log.opened == 0)
        let end = try #require(log.ended.first)
        #expect(!end.wasOpen && end.reason == "unconnected" && end.error?.code == .unreachable)
        #expect(log.deliveries.map(\.outcomes.count) == [2])
    }

    @Test func `an observer need not do anything`() async throws {
        try await TestGateway.accepting {
            $0.observer = Idle()
        } test: { _, gateway, backend in
            let outcomes = await backend.deliver(batch(1), to: gateway, with: try TestCredential.certificate())
            #expect(outcomes.map(\.verdict) == [.accepted])
        }
    }
}
