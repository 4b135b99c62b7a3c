import ApplePushSimulator
import TestSupport
import Testing

/// Distant gateways, and gateways that open their windows in odd ways or not at all. None of that is a fault, and nothing is
/// sent twice.
@Suite struct DistanceCases {
    /// Nearly the limit of a payload.
    private static let padding = 4_000

    /// Sends that many pushes of 4 KB to a gateway at that distance. No outcome may be unknown, and no connection lost.
    private func send(
        _ pushes: Int,
        _ distance: Duration,
        _ change: (inout SimulatorConfiguration) -> Void = { _ in },
        then check: (Scene, WorkerProcess) async throws -> Void
    ) async throws {
        try await Scene.with {
            $0.distance = distance
            change(&$0)
        } _: { scene in
            try await scene.enqueue(pushes, padding: Self.padding)
            // The usual time, where nothing else keeps the gateway from answering.
            let timeout = ["--request-timeout", Board.sized("60s", full: "10s")]
            let worker = try scene.fleet.start(timeout, lease: Fleet.calm)
            try await scene.drained(within: .seconds(240))
            #expect(try await worker.unknownOutcomes == 0)
            try await check(scene, worker)
            try await scene.finish()
        }
    }

    @Test
    func `N18: 200 ms away, 4 KB through windows of 65,535 bytes are sent once, over few connections`() async throws {
        // At 80 pushes a second and connection, all of them at once take longer than the time for an answer.
        try await send(Board.sized(2_000, full: 8_000), .milliseconds(200)) { scene, worker in
            let connections = await scene.simulator.statistics().connections
            #expect(connections <= 6)
            let silent = try await worker.ends(by: "silent")
            #expect(silent == 0)
        }
    }

    @Test func `N19: far away, GOAWAY loses no push and sends none twice`() async throws {
        try await send(Board.sized(1_000, full: 5_000), .milliseconds(100)) {
            $0.goAwayAfter = 100
        } then: { _, worker in
            let silent = try await worker.ends(by: "silent")
            #expect(silent == 0)
        }
    }

    @Test func `N20: a small push beside large ones to a distant gateway does not wait for them`() async throws {
        try await Scene.with {
            $0.distance = .milliseconds(200)
        } _: { scene in
            try await scene.addApp("codes", topic: Scene.topic, to: scene.simulator)
            // One credential, and therefore the same connections.
            try await scene.client.run(
                "UPDATE carillon.apps SET certificate_id = (SELECT certificate_id FROM carillon.apps WHERE name = "
                    + "'\(Scene.app)') WHERE name = 'codes'"
            )
            let many = Board.sized(3_000, full: 8_000)
            try await scene.enqueue(many, padding: Self.padding)
            _ = try scene.fleet.start(lease: Fleet.calm)
            try await scene.requests(100)
            try await scene.enqueue(1, prefix: "c0de", app: "codes")
            try await scene.eventually("the code was sent") {
                let sent = try await scene.client.number(
                    "SELECT count(*) FROM carillon.results r JOIN carillon.apps a ON a.id = r.app_id WHERE a.name = 'codes'"
                )
                return sent == 1
            }
            let place = scene.record.deliveries.firstIndex { $0.token.hasPrefix("c0de") }
            #expect(try #require(place) < many, "all others went out before it")
            try await scene.finish(within: .seconds(240))
        }
    }

    // MARK: Odd windows

    @Test func `H22: with an initial window of 0, each stream waits for its own`() async throws {
        try await Scene.send { frame in
            if frame.direction == .down, frame.frame.type == 4, frame.frame.flags == 0 {
                return [.pass, .say(FrameBytes.settings([(4, 0)]))]
            }
            guard frame.direction == .up, frame.frame.isHeaders else { return [.pass] }
            return [.pass, .say(FrameBytes.windowUpdate(frame.frame.stream, 4_096))]
        } then: { _, worker, relay async throws in
            #expect(try await worker.unknownOutcomes == 0)
            #expect(relay.connections <= 4)
        }
    }

    @Test func `H23: eighty WINDOW_UPDATEs for each push are no flood`() async throws {
        try await Scene.send { frame in
            guard frame.direction == .up, frame.frame.isHeaders else { return [.pass] }
            let updates = FrameBytes.windowUpdate(frame.frame.stream, 1) + FrameBytes.windowUpdate(0, 1)
            return [.pass, .say(Array(repeatElement(updates, count: 40).joined()))]
        } then: { _, worker, _ in
            let unknown = try await worker.unknownOutcomes
            let floods = try await worker.ends(by: "flooded")
            #expect(unknown == 0 && floods == 0)
        }
    }

    @Test(.scene)
    func `H24: a connection whose window stays closed is abandoned, and its pushes are sent on another, once`()
        async throws
    {
        // The first connection gets none of the windows that the gateway opens.
        let judge: Relay.Judge = { frame in
            frame.direction == .down && frame.frame.type == 8 && frame.connection == 1 ? [] : [.pass]
        }
        try await scene.withRelay(judge) { relay in
            try await scene.enqueue(500, padding: Self.padding)
            let worker = try scene.fleet.start(["--connections", "1"], lease: Fleet.calm)
            try await scene.drained()
            let unknown = try await worker.unknownOutcomes
            let ends = try await worker.ends(by: "window_closed")
            #expect(unknown == 0 && ends == 1)
            #expect(relay.connections == 2)
            try await scene.finish()
        }
    }
}
