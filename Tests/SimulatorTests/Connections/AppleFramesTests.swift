import TestSupport
import Testing

@testable import ApplePushSimulator

/// The frames of the simulator are those that Apple has been seen to send, and it reads what Apple reads.
@Suite struct AppleFramesTests {
    /// A push, whose header fields are in one frame.
    private static func push(_ stream: UInt32, _ block: [UInt8]) -> [UInt8] {
        FrameBytes.frame(1, flags: 4, stream: stream, block) + FrameBytes.data(stream, Array("{}".utf8), end: true)
    }

    /// The compression table, streams, frames and header lists, in this order.
    @Test(arguments: [false, true])
    func `the first SETTINGS are those of Apple's gateway`(hasCertificate: Bool) async throws {
        for window in [65_535, 70_000] {
            try await TestSimulator.with {
                $0.window = window
            } _: { simulator, _, loop in
                var client = try await RawClient.connect(to: simulator, hasCertificate: hasCertificate, on: loop)
                let first = try #require(try await client.frame { $0.type == 4 && $0.flags == 0 })
                let usual: [(UInt16, UInt32)] = [(1, 4_096), (3, hasCertificate ? 1_000 : 1), (5, 16_384), (6, 8_000)]
                // Apple names no window, so that it is HTTP/2's of 65,535 bytes.
                let named: [(UInt16, UInt32)] = window == 65_535 ? [] : [(4, 70_000)]
                #expect(first.bytes == FrameBytes.settings(usual + named))
            }
        }
    }

    @Test func `GOAWAY gives its reason in JSON, as answers do`() async throws {
        try await TestSimulator.with {
            $0.goAwayAfter = 1
        } _: { simulator, _, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            try await client.send(Self.push(1, FrameBytes.block(RawClient.fields(["apns-topic": "com.example.app"]))))
            let frame = try #require(try await client.frame { $0.type == 7 })
            #expect(frame.bytes == FrameBytes.goAway(last: 1, 0, #"{"reason":"Shutdown"}"#))
        }
    }

    /// Without indexing, never indexed, and with incremental indexing.
    @Test(arguments: [0x00, 0x10, 0x40] as [UInt8])
    func `a request is judged alike, however its client indexes the fields`(form: UInt8) async throws {
        try await TestSimulator.with {
            $0.recordsRequests = true
        } _: { simulator, _, loop in
            let fields = RawClient.fields(["apns-topic": "com.example.app", "apns-collapse-id": "group"])
            let block = fields.flatMap { [form] + FrameBytes.string($0.0) + FrameBytes.string($0.1) }
            // The table of the decoder has the newest field first, as number 62.
            let indexed = (0..<fields.count).reversed().map { 0x80 | UInt8(62 + $0) }
            var client = try await RawClient.connect(to: simulator, on: loop)
            try await client.send(Self.push(1, block) + Self.push(3, form == 0x40 ? indexed : block))
            _ = try await client.frame { $0.stream == 3 && $0.endsStream }
            let requests = await simulator.receivedRequests()
            #expect(requests.map(\.status) == [200, 200])
            #expect(requests.map(\.collapseID) == ["group", "group"])
            #expect(requests.map(\.token) == [SampleRequest.token, SampleRequest.token])
        }
    }
}
