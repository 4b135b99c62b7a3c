import TestSupport
import Testing

/// Cases in which a relay before the simulator adds frames on some connections.
extension Scene {
    /// How many pushes may be in flight on a connection that has answered a few.
    static let inFlight = 128

    /// Has a worker send that many pushes through it, all of which succeed.
    static func send(
        _ pushes: Int = 2000,
        duplicates: Int = 0,
        localReasons: Set<String> = [],
        _ flags: [String] = [],
        through judge: @escaping Relay.Judge,
        then check: (Scene, WorkerProcess, Reception) async throws -> Void = { _, _, _ in }
    ) async throws {
        try await Self.with { scene in
            try await scene.withRelay(judge) { relay in
                try await scene.enqueue(pushes)
                let worker = try scene.fleet.start(flags, lease: Fleet.calm)
                try await scene.drained()
                try await check(scene, worker, relay)
                try await scene.finish(duplicates: duplicates, localReasons: localReasons)
            }
        }
    }

    /// The same, where each of the first connections sends other bytes instead of its 21st answer. A push that was on four of them
    /// is not sent a fifth time.
    static func survive(
        _ faults: [@Sendable (UInt32) -> [UInt8]],
        then check: (Scene, WorkerProcess, Reception) async throws -> Void = { _, _, _ in }
    ) async throws {
        let reasons: Set = faults.count > 3 ? ["OutcomeUnknown"] : []
        try await send(duplicates: faults.count * Self.inFlight, localReasons: reasons) { frame in
            guard frame.isAnswer, frame.answers == 21, frame.connection <= faults.count else { return [.pass] }
            return [.say(faults[frame.connection - 1](frame.frame.stream))]
        } then: { scene, worker, relay in
            #expect(relay.connections > faults.count, "each was the end of its connection")
            #expect((worker.mostMemory ?? 0) < 200 << 20)
            try await check(scene, worker, relay)
        }
    }
}
