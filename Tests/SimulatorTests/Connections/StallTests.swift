import CarillonIO
import TestSupport
import Testing

@testable import ApplePushSimulator

/// Clients that send nothing, or stop within a frame.
@Suite struct StallTests {
    /// Advances the clock until the simulator has sent GOAWAY and closed.
    private func end(
        of client: consuming RawClient,
        _ failures: FailedConnections,
        _ clock: ManualClock,
        on loop: EventLoop
    ) async throws {
        try await loop.eventually("a connection has failed") {
            if clock.isAwaited { clock.advance(by: Stall.limit) }
            return !failures.all.isEmpty
        }
        let goodbye = try await client.frame { $0.type == 7 }
        #expect(goodbye != nil)
        let more = try await client.frame { _ in true }
        #expect(more == nil)
    }

    @Test func `a client that sends nothing after its handshake is closed after ten seconds`() async throws {
        let clock = ManualClock()
        try await TemporaryFolder.with { folder in
            try await TestSimulator.with(clock: clock) {
                $0.logFile = folder.file("log")
            } _: { simulator, failures, loop in
                let client = try await RawClient.connect(to: simulator, saying: [], on: loop)
                try await loop.eventually("it has come") { await simulator.statistics().openConnections == 1 }
                clock.advance(by: Stall.limit - .milliseconds(1))
                try await loop.eventually("it is looked at again") { clock.isAwaited }
                #expect(failures.all.isEmpty)
                try await end(of: client, failures, clock, on: loop)
                let words = "the client did not begin HTTP/2 within 10 s of its handshake"
                #expect(failures.all.map(\.message) == [words])
                #expect(try folder.read("log").contains(#""connection":1,"failed":"connection","error":"\#(words)""#))
                #expect(await simulator.statistics().openConnections == 0)
            }
        }
    }

    @Test(arguments: [
        ("a frame's header", Array(FrameBytes.data(1, [1]).prefix(5))),
        ("a frame", Array(FrameBytes.data(1, [1, 2, 3]).dropLast())),
        ("a header block", FrameBytes.frame(1, stream: 1, FrameBytes.block([(":method", "POST")]))),
        ("a continuation", FrameBytes.frame(1, stream: 1, []) + FrameBytes.frame(9, stream: 1, [])),
    ])
    func `a client that stops within a frame is closed after ten seconds`(part: String, bytes: [UInt8]) async throws {
        let clock = ManualClock()
        try await TestSimulator.with(clock: clock) { simulator, failures, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            let isOpen = part == "a frame" || part == "a frame's header"
            let opening = isOpen ? FrameBytes.headers(1, RawClient.fields()) : []
            try await client.send(opening + FrameBytes.ping(7) + bytes)
            // After the answer, the bytes sent with the ping were read too.
            _ = try await client.frame { $0.type == 6 }
            try await end(of: client, failures, clock, on: loop)
            let words = "the client began an HTTP/2 frame and did not complete it within 10 s"
            #expect(failures.all.map(\.message) == [words])
        }
    }

    @Test func `an idle client stays connected`() async throws {
        let clock = ManualClock()
        try await TestSimulator.with(clock: clock) { simulator, failures, loop in
            let quiet = try await SimulatorClient.certified(by: simulator, on: loop)
            // Because of this stalled one the simulator checks both.
            let client = try await RawClient.connect(to: simulator, saying: [], on: loop)
            try await loop.eventually("both have come") { await simulator.statistics().openConnections == 2 }
            try await end(of: client, failures, clock, on: loop)
            clock.advance(by: .seconds(3600))
            #expect(try await quiet.send([SampleRequest()]).map(\.status) == [200])
            #expect(failures.all.map(\.connection) == [2])
        }
    }

    @Test func `the time limit begins again with each frame`() {
        var stall = Stall()
        let start = MonotonicInstant.now
        let pieces: [(piece: Int?, seconds: Int)] = [(2, 0), (2, 9), (4, 11), (4, 20), (nil, 21), (4, 22), (4, 32)]
        let judgements = pieces.map { stall.isTooLong($0.piece, at: start + .seconds($0.seconds)) }
        #expect(judgements == [false, false, false, false, false, false, true])
    }
}
