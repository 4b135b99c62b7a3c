import CarillonHTTP2
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@testable import ApplePushSimulator

/// Requests that are never complete.
@Suite struct UnfinishedRequestTests {
    /// The lines of the log after a client has sent these bytes and closed.
    private func log(
        saying first: [UInt8] = FrameBytes.preface + FrameBytes.settings(),
        _ frames: [UInt8],
        isReset: Bool = false,
        lines count: Int = 1
    ) async throws -> [String] {
        try await TemporaryFolder.with { folder in
            var lines: [String] = []
            try await TestSimulator.with {
                $0.logFile = folder.file("log")
            } _: { simulator, _, loop in
                do {
                    var client = try await RawClient.connect(to: simulator, saying: first, on: loop)
                    try await client.send(frames)
                    try await loop.eventually("it has come") { await simulator.statistics().openConnections == 1 }
                    if isReset { client.resetWhenClosed() }
                    client.close()
                }
                try await loop.eventually("it has gone") { await simulator.statistics().openConnections == 0 }
                lines = try folder.read("log").split(separator: "\n").map(String.init)
            }
            #expect(lines.count == count, "\(lines)")
            return lines
        }
    }

    @Test(arguments: [false, true], ["nothing", "a part of a frame", "a part of the next frame's header"])
    func `a request whose client closes before its end has its line`(isReset: Bool, rest: String) async throws {
        let fields = RawClient.fields(["apns-topic": "com.example.app"])
        let begun = FrameBytes.headers(1, fields) + FrameBytes.data(1, Array(#"{"aps":"#.utf8))
        let cut = FrameBytes.data(1, Array("{}}".utf8), end: true)
        let more = rest == "nothing" ? [] : Array(cut.prefix(rest == "a part of a frame" ? 10 : 4))
        let lines = try await log(begun + more, isReset: isReset)
        let line = try #require(try RequestLine.all(in: Array(lines.joined(separator: "\n").utf8)).first)
        #expect(line.stream == 1 && line.token == SampleRequest.token && line.topic == "com.example.app")
        #expect(line.status == nil && line.reason == nil)
        #expect(line.detail == "The connection ended before the request was complete.")
        #expect(line.payload?.hasPrefix(#"{"aps":"#) == true)
    }

    @Test func `a request that its client resets half-way has its line`() async throws {
        let begun = FrameBytes.headers(1, RawClient.fields()) + FrameBytes.data(1, Array("{".utf8))
        let lines = try await log(begun + FrameBytes.reset(1, 8))
        let line = try #require(try RequestLine.all(in: Array(lines.joined(separator: "\n").utf8)).first)
        #expect(line.stream == 1 && line.status == nil)
        #expect(line.detail == "The client reset the stream (CANCEL) before the request was complete.")
    }

    @Test func `a client that closes within the preface or a frame has a line`() async throws {
        let words = #""failed":"connection","error":"the client closed the connection within "#
        let preface = try await log(saying: Array(FrameBytes.preface.prefix(10)), [])
        #expect(preface.first?.contains(words + "the HTTP/2 preface") == true)
        let frame = try await log(Array(FrameBytes.ping(1).dropLast(3)))
        #expect(frame.first?.contains(words + "an HTTP/2 frame") == true)
    }

    @Test func `a client that closes between two requests, or sends nothing, has no line`() async throws {
        _ = try await log(saying: [], [], lines: 0)
        _ = try await log([], lines: 0)
        let complete = FrameBytes.headers(1, RawClient.fields(), end: true)
        _ = try await log(complete)
    }
}
