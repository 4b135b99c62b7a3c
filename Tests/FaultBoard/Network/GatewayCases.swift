import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Faults between a worker and its gateway.
@Suite(.scene) struct GatewayCases {
    /// Short, for gateways that never answer; and long enough for those that do, on a busy machine too.
    private static let timeout = Board.sized("6s", full: "2s")

    @Test func `N3: a gateway that vanishes with open streams is detected by its missing answers`() async throws {
        try await scene.withProxyToGateway { proxy in
            let worker = try scene.fleet.start(
                ["--request-timeout", "2s", "--max-in-flight", "500"],
                lease: Fleet.calm
            )
            try await scene.underLoad {
                try await scene.requests(500)
                try await proxy.openBlackHole()
                try await scene.eventually("answers were missed") {
                    try await worker.metric("carillon_push_timeouts_total") > 0
                }
                await proxy.closeBlackHole()
                try await scene.goesOn()
            }
            try await scene.finish(duplicates: 1_000)
        }
    }

    @Test func `N4: a connection cut at any byte loses nothing, and repeats only what was in flight`() async throws {
        try await scene.withProxyToGateway { proxy in
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await worker.started()
            let cuts = Board.sized(8, full: 80)
            var random = SeededGenerator(seed: Board.seed)
            try await scene.underLoad {
                for number in 1...cuts {
                    let direction: Proxy.Direction = number.isMultiple(of: 2) ? .up : .down
                    await proxy.cut(direction, afterBytes: Int.random(in: 1...20_000, using: &random))
                    try await scene.eventually("cut \(number)") { await proxy.cuts >= number }
                }
            }
            // A push that was in flight at four of the cuts is not sent a fifth time.
            try await scene.finish(duplicates: cuts * 1_000, localReasons: ["OutcomeUnknown"])
        }
    }

    @Test func `N5: a connection that is closed with open streams, with or without close_notify, loses nothing`()
        async throws
    {
        let judge: Relay.Judge = { frame in
            guard frame.isAnswer, frame.answers == 21, frame.connection <= 6 else { return [.pass] }
            // A part of an answer does not count.
            let part = Array(frame.frame.bytes.prefix(12))
            return [.say(part), frame.connection.isMultiple(of: 2) ? .close : .hangUp]
        }
        try await scene.withRelay(judge) { relay in
            try await scene.enqueue(2_000)
            _ = try scene.fleet.start(lease: Fleet.calm)
            try await scene.drained()
            #expect(relay.connections > 6)
            try await scene.finish(duplicates: 6 * Scene.inFlight, localReasons: ["OutcomeUnknown"])
        }
    }

    @Test func `N7: a gateway that reads and never answers is abandoned`() async throws {
        let judge: Relay.Judge = { frame in
            frame.isAnswer && frame.answers == 21 && frame.connection <= 2 ? [.pass, .freeze] : [.pass]
        }
        try await scene.withRelay(judge) { relay in
            try await scene.enqueue(2_000)
            let worker = try scene.fleet.start(["--request-timeout", Self.timeout], lease: Fleet.calm)
            try await scene.drained()
            #expect(relay.connections > 2)
            #expect((worker.mostMemory ?? 0) < 200 << 20)
            try await scene.finish(duplicates: 2 * Scene.inFlight)
        }
    }

    @Test func `N6: a gateway whose answers come byte by byte is abandoned in time`() async throws {
        let rest = Guarded<[UInt8]>([])
        let judge: Relay.Judge = { frame in
            guard frame.connection == 1, frame.answers > 20 else { return [.pass] }
            if frame.direction == .down {
                rest.withLock { $0 += frame.frame.bytes }
                return []
            }
            let byte = rest.withLock { $0.isEmpty ? [] : [$0.removeFirst()] }
            return [.pass, .say(byte)]
        }
        try await scene.withRelay(judge) { relay in
            try await scene.enqueue(1_000)
            _ = try scene.fleet.start(["--request-timeout", Self.timeout, "--connections", "1"], lease: Fleet.calm)
            try await scene.drained()
            #expect(relay.connections > 1)
            try await scene.finish(duplicates: Scene.inFlight)
        }
    }

    @Test func `N11: over a slow line in pieces of a few bytes everything arrives`() async throws {
        try await scene.withRelay(in: 7, { _ in [.pass] }) { _ in
            try await scene.enqueue(Board.sized(500, full: 5_000))
            let worker = try scene.fleet.start(lease: Fleet.calm)
            try await scene.drained()
            #expect(try await worker.unknownOutcomes == 0)
            try await scene.finish()
        }
    }
}
