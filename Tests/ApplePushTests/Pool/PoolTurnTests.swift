import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import ApplePush

/// Deliveries that share a pool, over real sockets.
@Suite struct PoolTurnTests {
    @Test func `a single push does not wait for the message of 20,000 before it`() async throws {
        let large = 20_000
        try await TestGateway.with(streams: 10) { server, gateway in
            try await withBackend { backend in
                let credential = try TestCredential.certificate()
                async let all = backend.deliver(batch(large), to: gateway, with: credential)
                try await eventually { server.seen.count > 100 }
                let before = server.seen.count
                let single = await backend.deliver(batch(1, digits: 10), to: gateway, with: credential)
                let after = server.seen.count
                #expect(single[0].verdict == .delivered)
                #expect(after - before < large / 4, "\(after - before) went out before it")
                #expect(await all.allSatisfy { $0.verdict == .delivered })
            }
        }
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
        try await TestGateway.with(greeting: .noTLS) { _, gateway in
            try await TestLoop.with { loop in
                try await withBackend { backend in
                    var configuration = HTTP2Configuration()
                    configuration.handshakeTimeout = .seconds(600)
                    configuration.totalTimeout = .seconds(600)
                    let credential = try TestCredential.certificate()
                    let pool = ConnectionPool(
                        to: gateway,
                        with: credential,
                        HTTP2Wire(gateway, configuration),
                        configuration.pool,
                        meter: TrafficMeter(),
                        on: loop
                    )
                    return try await withThrowingTaskGroup(of: Delivered?.self) { group in
                        for _ in 0..<count {
                            group.addTask {
                                await pool.deliver(batch(1), with: credential, DeliveryTerms(), for: backend)
                            }
                        }
                        try await loop.eventually("all wait", within: .seconds(120)) {
                            await pool.waitingPushes == count
                        }
                        let start = await processorTime(of: loop)
                        group.cancelAll()
                        for try await delivered in group { #expect(delivered?.outcomes[0].verdict == .safe) }
                        let time = await processorTime(of: loop) - start
                        await pool.shutdown()
                        return time
                    }
                }
            }
        }
    }
}

extension ConnectionPool {
    fileprivate var waitingPushes: Int { deliveries.waiting }
}
