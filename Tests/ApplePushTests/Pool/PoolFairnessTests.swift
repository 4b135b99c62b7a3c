import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import ApplePush

/// Deliveries that share a pool, over real sockets.
@Suite struct PoolFairnessTests {
    @Test func `a single push does not wait for the message of 20,000 before it`() async throws {
        let large = 20_000
        let streams = 10
        let gate = Gate()
        // The gateway holds its connection until the single push waits too.
        try await TestGateway.with(
            streams: UInt32(streams),
            { $0.number == 100 ? [.wait(gate), .answer(200)] : [.answer(200)] },
            test: { server, gateway in
                try await withPool(to: gateway) { pool, loop, deliver in
                    async let all = deliver(batch(large))
                    defer { gate.open() }
                    // It has answered 99, and what it has not read yet is in flight.
                    let before = large - 99 - streams
                    try await loop.eventually("the gateway holds") { await pool.waitingPushes == before }
                    async let single = deliver(batch(1, digits: 10))
                    try await loop.eventually("the single push waits") { await pool.waitingPushes == before + 1 }
                    gate.open()
                    #expect(await single?.outcomes[0].verdict == .accepted)
                    #expect(await all?.outcomes.allSatisfy { $0.verdict == .accepted } == true)
                    let place = try #require(server.seen.firstIndex { $0.token.count == 10 })
                    // Those in flight go before it, and at most what is left of the large one's quantum.
                    #expect(place <= 100 + streams + DeliveryOrder.share)
                }
            }
        )
    }

    @Test func `cancelling a delivery takes constant time, however many wait`() async throws {
        let few = try await timeToLetGo(of: 4_000)
        let many = try await timeToLetGo(of: 32_000)
        // Eight times as many would take 64 times as long if each cancellation searched all.
        #expect(many < few * 24, "4,000 took \(few), 32,000 took \(many)")
    }

    /// The processor time of the loop's thread.
    private func processorTime(of loop: EventLoop) async -> Duration {
        await withCheckedContinuation { continuation in
            loop.submit {
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                continuation.resume(returning: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
            }
        }
    }

    /// Cancels many deliveries that wait for a gateway that does not answer. Returns the processor time of
    /// the pool's thread, which other tests do not change.
    private func timeToLetGo(of count: Int) async throws -> Duration {
        // Nobody accepts its connections.
        let listener = try ListeningSocket(host: "127.0.0.1", port: 0)
        return try await withPool(to: Gateway(host: "127.0.0.1", port: listener.port)) { pool, loop, deliver in
            try await withThrowingTaskGroup(of: Delivered?.self) { group in
                for _ in 0..<count { group.addTask { await deliver(batch(1)) } }
                try await loop.eventually("all wait") {
                    await pool.waitingPushes == count
                }
                let start = await processorTime(of: loop)
                group.cancelAll()
                for try await delivered in group { #expect(delivered?.outcomes[0].verdict == .safe) }
                return await processorTime(of: loop) - start
            }
        }
    }

    /// Runs the body with a pool of one connection, and with what delivers to it.
    private func withPool<R>(
        to gateway: Gateway,
        _ body: (ConnectionPool, EventLoop, @escaping @Sendable (PushBatch) async -> Delivered?) async throws -> R
    ) async throws -> R {
        try await TestLoop.with { loop in
            try await withBackend { backend in
                var configuration = HTTP2Configuration.oneConnection
                configuration.handshakeTimeout = .seconds(600)
                configuration.totalTimeout = .seconds(600)
                let credential = try TestCredential.certificate()
                let pool = ConnectionPool(
                    to: gateway,
                    with: credential,
                    HTTP2Wire(gateway, configuration),
                    configuration.pool,
                    meter: TrafficMeter(),
                    observer: nil,
                    on: loop
                )
                return try await attempt {
                    try await body(pool, loop) { batch in
                        await pool.deliver(batch, with: credential, DeliveryTerms(), for: backend)
                    }
                } finally: {
                    await pool.shutdown()
                }
            }
        }
    }
}

extension ConnectionPool {
    fileprivate var waitingPushes: Int { deliveries.waiting }
}
