import IO
import Simulator
import TestSupport
import Testing

/// What happens between a worker and its gateway.
@Suite struct GatewayCases {
    /// What a connection may have in flight that has answered a few pushes.
    private static let inFlight = 128

    @Test func `N1: a gateway that is down costs no push, and is found again when it is up`() async throws {
        try await Scene.with { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            await scene.simulator.stop()
            try await scene.enqueue(500)
            try await scene.eventually("the app was held") { try await worker.metric("carillon_app_held") == 1 }
            let held = MonotonicInstant.now
            try await scene.eventually("it was held for a while", within: .seconds(90)) {
                .now > held + Board.sized(.seconds(2), full: .seconds(30))
            }
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.failures") == 0)
            try await scene.simulator.start()
            try await scene.finish(within: .seconds(90))
        }
    }

    @Test func `N3: a gateway that vanishes with streams open is noticed by what it does not answer`() async throws {
        try await Scene.with { scene in
            try await scene.withProxyToGateway { proxy in
                let worker = try scene.fleet.start(
                    ["--request-timeout", "2s", "--max-in-flight", "500"],
                    lease: Fleet.calm
                )
                try await scene.underLoad {
                    try await scene.requests(500)
                    try await proxy.openBlackHole()
                    try await scene.eventually("answers were missed", within: .seconds(20)) {
                        try await worker.metric("carillon_late_answers_total") > 0
                    }
                    await proxy.closeBlackHole()
                    try await scene.goesOn(within: .seconds(60))
                }
                try await scene.finish(duplicates: 1_000)
            }
        }
    }

    @Test func `N4: a connection cut at any byte loses nothing, and doubles only what was in flight`() async throws {
        try await Scene.with { scene in
            try await scene.withProxyToGateway { proxy in
                let worker = try scene.fleet.start(["--request-timeout", "60s"], lease: Fleet.calm)
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
                try await scene.finish(duplicates: cuts * 1_000)
            }
        }
    }

    @Test func `N5: a connection that is closed with streams open, in good order or not, loses nothing`() async throws {
        try await Scene.with { scene in
            let judge: Relay.Judge = { frame in
                guard frame.isAnswer, frame.answers == 21, frame.connection <= 6 else { return [.pass] }
                // A part of an answer is none.
                let part = Array(frame.frame.bytes.prefix(12))
                return [.say(part), frame.connection.isMultiple(of: 2) ? .close : .hangUp]
            }
            try await scene.withRelay(judge) { relay in
                try await scene.enqueue(2_000)
                _ = try scene.fleet.start(["--request-timeout", "60s"], lease: Fleet.calm)
                try await scene.drained(within: .seconds(120))
                #expect(relay.connections > 6)
                try await scene.finish(duplicates: 6 * Self.inFlight)
            }
        }
    }

    @Test func `N7: a gateway that reads and says nothing any more is left`() async throws {
        try await Scene.with { scene in
            let judge: Relay.Judge = { frame in
                frame.isAnswer && frame.answers == 21 && frame.connection <= 2 ? [.pass, .freeze] : [.pass]
            }
            try await scene.withRelay(judge) { relay in
                try await scene.enqueue(2_000)
                _ = try scene.fleet.start(["--request-timeout", "2s"], lease: Fleet.calm)
                try await scene.drained(within: .seconds(120))
                #expect(relay.connections > 2)
                try await scene.finish(duplicates: 2 * Self.inFlight)
            }
        }
    }

    @Test func `N16: a gateway that shakes hands and names no settings is left after five seconds`() async throws {
        try await Scene.with { scene in
            let judge: Relay.Judge = { frame in
                frame.direction == .down && frame.connection == 1 ? [.freeze] : [.pass]
            }
            try await scene.withRelay(judge) { relay in
                try await scene.enqueue(500)
                let worker = try scene.fleet.start(["--request-timeout", "60s"], lease: Fleet.calm)
                try await scene.drained(within: .seconds(120))
                #expect(relay.connections > 1)
                #expect(try await worker.metric("carillon_unknown_outcomes_total") == 0)
                try await scene.finish()
            }
        }
    }
}
