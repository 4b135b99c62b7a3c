import ApplePush
import CarillonIO
import CarillonText
import Synchronization
import TestSupport
import Testing

@testable import ApplePushSimulator

/// An app of the legacy binary protocol, whose gateway says nothing of what it accepts.
@Suite struct BinaryCases {
    private static func with(
        _ configure: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (Scene) async throws -> Void
    ) async throws {
        try await Scene.with({
            $0.binaryPort = 0
            try configure(&$0)
        }) { scene in
            let port = try #require(scene.simulator.binaryPort)
            try await scene.client.run("UPDATE carillon.apps SET protocol = 'binary', gateway = 'localhost:\(port)'")
            try await body(scene)
        }
    }

    @Test func `B1: workers of a binary app that are killed under load lose nothing`() async throws {
        try await Self.with { scene in
            let most = 500
            let kills = Board.sized(3, full: 15)
            var youngest = try await scene.fleet.started(2, ["--max-in-flight", "\(most)"])[1]
            try await scene.underLoad {
                for _ in 0..<kills {
                    try await scene.livesOn(youngest, for: Fleet.lease)
                    scene.fleet.running[0].kill()
                    youngest = try await scene.fleet.started(["--max-in-flight", "\(most)"])
                }
            }
            try await scene.finish(duplicates: most * kills)
        }
    }

    @Test func `B2: of pushes that follow a refused one, whose error comes late, each is sent once`() async throws {
        try await Self.with({
            $0.answers = [try AnswerRule(parsing: "bb=400:BadDeviceToken")]
            $0.delay = .milliseconds(300)
        }) { scene in
            try await scene.fleet.started(2, lease: Fleet.calm)
            for _ in 0..<Board.sized(5, full: 30) {
                try await scene.enqueue(300)
                try await scene.enqueue(1, prefix: "bb")
                try await scene.enqueue(1, tokens: 50)
            }
            try await scene.finish(within: .seconds(300))
        }
    }

    @Test func `B3: a gateway that shuts down again and again loses and repeats nothing`() async throws {
        try await Self.with({ $0.goAwayAfter = 200 }) { scene in
            try await scene.fleet.started(2, lease: Fleet.calm)
            try await scene.enqueue(Board.sized(2000, full: 20_000))
            try await scene.enqueue(2, tokens: 700)
            try await scene.finish()
        }
    }

    @Test func `B4: connections that are reset leave nothing out, and repeat at most what was on them`() async throws {
        try await Self.with({ $0.resetAfter = 700 }) { scene in
            try await scene.fleet.started(lease: Fleet.calm)
            let count = Board.sized(2000, full: 20_000)
            try await scene.enqueue(count)
            // Each loss halves the window, so that connections soon end before the reset. Until then, some pushes are without an
            // outcome four times.
            try await scene.finish(duplicates: count, localReasons: ["OutcomeUnknown"], within: .seconds(300))
        }
    }

    /// Each refusal costs a connection. Memory, descriptors and threads stay.
    @Test func `B5: a worker that makes one connection after another does not grow`() async throws {
        try await Self.with({ $0.answers = [try AnswerRule(parsing: "bb=400:BadDeviceToken")] }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(20, prefix: "bb")
            try await scene.drained()
            let before = try #require(Usage(of: worker.processID))
            let connections = try await worker.ends(by: "refused_push")

            let count = Board.sized(50, full: 500)
            try await scene.enqueue(count, prefix: "bb")
            try await scene.drained(within: .seconds(300))
            let after = try #require(Usage(of: worker.processID))
            #expect(try await worker.ends(by: "refused_push") - connections == count)
            // A sanitizer keeps freed memory for a while.
            #expect(
                after.memory < before.memory + 16 << 20 || Sanitizer.isLoaded,
                "\(before.memory) before, \(after.memory) after"
            )
            // A few come and go, such as the thread that looks up an address.
            #expect(after.descriptors < before.descriptors + 10)
            #expect(after.threads < before.threads + 5)
            try await scene.finish()
        }
    }

    /// It reads on after the barrier, and answers nothing.
    @Test(.scene) func `B6: a gateway that ignores a barrier gets no other, and its silence counts its pushes as sent`()
        async throws
    {
        let barriers = Atomic<Int>(0)
        try await RawGateway.with(alpn: []) { [scene] line in
            while let next = try await line.nextNotification() {
                if next.token.isEmpty {
                    barriers.wrappingAdd(1, ordering: .relaxed)
                } else {
                    scene.record.note(.received(ReceivedRequest(next, on: line.number)))
                }
            }
        } test: { gateway, port in
            try await scene.client.run("UPDATE carillon.apps SET protocol = 'binary'")
            try await scene.lead(to: "127.0.0.1:\(port)", trusting: gateway.rootPEM)
            // As many as the first window holds, so that it ends with a barrier. With more, another connection would end with one
            // before the first is known to be ignored.
            try await scene.enqueue(BinaryConfiguration().firstWindow)
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.drained()
            #expect(barriers.load(ordering: .relaxed) == 1)
            try await scene.enqueue(Board.sized(3000, full: 20_000))
            try await scene.drained()
            #expect(try await worker.unknownOutcomes == 0)
            try await scene.finish()
            #expect(barriers.load(ordering: .relaxed) == 1)
        }
    }
}

extension ReceivedRequest {
    /// A notification that a gateway has accepted, which it does without an answer.
    fileprivate init(_ notification: BinaryNotification, on connection: Int) {
        self.init(
            time: WallClock.milliseconds,
            connection: connection,
            stream: 0,
            apnsID: "\(notification.identifier ?? 0)",
            token: notification.token.hexadecimal,
            topic: Scene.topic,
            pushType: nil,
            priority: nil,
            expiration: nil,
            collapseID: nil,
            authorization: nil,
            channelAction: nil,
            channel: nil,
            payload: Array(notification.payload.utf8),
            status: 200,
            reason: nil
        )
    }
}
