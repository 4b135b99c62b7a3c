import CarillonHTTP2
import CarillonIO
import CarillonTLS
import CarillonText
import TestSupport
import Testing

@testable import ApplePushSimulator

/// The log has a line for each request, and each line is true.
@Suite struct RequestLogTests {
    /// The body can read the lines that are there so far, by connection and stream.
    private func withSimulator(
        _ change: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (APNsSimulator, () throws -> [RequestLine], EventLoop) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            try await TestSimulator.with {
                $0.logFile = folder.file("log")
                try change(&$0)
            } _: { simulator, _, loop in
                let lines = {
                    try RequestLine.all(in: Array(folder.read("log").utf8)).sorted {
                        ($0.connection ?? 0, $0.stream ?? 0) < ($1.connection ?? 0, $1.stream ?? 0)
                    }
                }
                try await body(simulator, lines, loop)
            }
        }
    }

    @Test(arguments: [
        (":path", "/3/device/ab ab", ":path"), (":path", "*", "pseudo-header"),
        (":path", "3/device", "pseudo-header"),
        ("apns-priority", " 10", "apns-priority"), ("connection", "close", "connection"),
        ("content-length", "5", "content-length"), (":method", "CONNECT", "pseudo-header"),
    ])
    func `a request that is reset for breaking HTTP/2 has its line`(
        name: String,
        value: String,
        field: String
    ) async throws {
        try await withSimulator { simulator, lines, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            let body = FrameBytes.data(1, Array("{}".utf8), end: true)
            try await client.send(FrameBytes.headers(1, RawClient.fields([name: value])) + body)
            #expect(try await client.resetCode(of: 1) == 1)
            let found = try lines()
            #expect(found.count == 1)
            #expect(found.first?.stream == 1)
            #expect(found.first?.status == nil && found.first?.reason == nil)
            #expect(found.first?.detail?.contains("PROTOCOL_ERROR") == true)
            #expect(found.first?.detail?.contains(field) == true)
            let statistics = await simulator.statistics()
            #expect(statistics.requests == 0 && statistics.streamsRefused == 1)
        }
    }

    @Test func `a stream too many is refused, and has its line`() async throws {
        try await withSimulator { simulator, lines, loop in
            var client = try await RawClient.connect(to: simulator, hasCertificate: false, on: loop)
            let request = RawClient.fields(["apns-topic": "com.example.app"])
            try await client.send(FrameBytes.headers(1, request) + FrameBytes.headers(3, request, end: true))
            #expect(try await client.resetCode(of: 3) == 7)
            let found = try lines()
            #expect(found.map(\.stream) == [3])
            #expect(found.first?.status == nil)
            #expect(found.first?.detail?.contains("REFUSED_STREAM") == true)
            #expect(found.first?.detail?.contains("first good provider token") == true)
        }
    }

    @Test func `a held answer counts as unanswered when the simulator stops`() async throws {
        try await withSimulator {
            $0.delay = .seconds(60)
        } _: { simulator, lines, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            let body = FrameBytes.data(1, Array("{}".utf8), end: true)
            try await client.send(FrameBytes.headers(1, RawClient.fields(["apns-topic": "com.example.app"])) + body)
            try await loop.eventually("it came") { await simulator.statistics().requests == 1 }
            #expect(await simulator.statistics().delivered == 0)
            #expect(try lines().isEmpty)
            await simulator.stop()
            let found = try lines()
            #expect(found.count == 1)
            #expect(found.first?.token == SampleRequest.token)
            #expect(found.first?.status == nil)
            #expect(found.first?.detail?.contains("before it was answered") == true)
            let statistics = await simulator.statistics()
            #expect(statistics.requests == 1 && statistics.delivered == 0 && statistics.unanswered == 1)
        }
    }

    @Test func `a held answer counts as unanswered when the client has reset its stream`() async throws {
        try await withSimulator {
            $0.delay = .milliseconds(20)
        } _: { simulator, lines, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            let fields = RawClient.fields(["apns-topic": "com.example.app"])
            let body = FrameBytes.data(1, Array("{}".utf8), end: true)
            try await client.send(FrameBytes.headers(1, fields) + body + FrameBytes.reset(1, 8))
            try await loop.eventually("it was told") { try lines().count == 1 }
            #expect(try lines().first?.status == nil)
            #expect(try lines().first?.detail?.contains("before it was answered") == true)
            #expect(await simulator.statistics().unanswered == 1)
        }
    }

    @Test(arguments: [16_384, 16_385, 30_000, 1_000_000])
    func `a body of any length is counted and hashed whole`(count: Int) async throws {
        try await withSimulator { simulator, lines, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let text = String((0..<count).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })
            let answers = try await client.send([SampleRequest().with(payload: text), SampleRequest()])
            #expect(answers.map(\.status) == [413, 200])
            let line = try #require(try lines().first { $0.status == 413 })
            #expect(line.bytes == count)
            let digest = Digest.sha256(Array(text.utf8).span.bytes)
            #expect(line.sha256 == digest.hexadecimal)
            #expect(line.payload == String(text.prefix(16_384)))
        }
    }

    @Test func `the certificate's topic is in the line of a request without one`() async throws {
        try await withSimulator { simulator, lines, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let answers = try await client.send([SampleRequest(topic: nil), SampleRequest(topic: "com.example.other")])
            #expect(answers.map(\.status) == [200, 400])
            let found = try lines()
            #expect(found.map(\.topic) == ["com.example.app", "com.example.other"])
        }
    }

    /// What the detail says, and what it does not say: the other causes of that reason.
    private static let causes: [(SampleRequest, String, not: String)] = [
        (SampleRequest(topic: "com.example.other"), "names com.example.app, com.example.app.location-query.", "suffix"),
        (SampleRequest(["apns-push-type": "voip"]), "bundle ID followed by .voip.", "certificate"),
        (
            SampleRequest(topic: "com.example.app.location-query", ["apns-push-type": "location"]), "provider token",
            "suffix"
        ),
        (
            SampleRequest(topic: "com.example.app.voip", ["apns-push-type": "alert"]), ".voip, the suffix of voip",
            "Apple"
        ),
        (SampleRequest(["apns-push-type": "Alert"]), "liveactivity", "suffix"),
        (SampleRequest(["apns-priority": "5", "apns-priority": "5"]), "apns-priority", "apns-id"),
        (
            SampleRequest(["apns-push-type": "background", "apns-priority": "10"]), "type background is 5; it is 10.",
            "missing"
        ),
        (SampleRequest(["apns-push-type": "background"]), "type background is 5; a missing one counts as 10.", "it is"),
        (SampleRequest(["apns-priority": "7"]), "10, 5 or 1; it is 7.", "background"),
        (
            SampleRequest(["apns-collapse-id": String(repeating: "ü", count: 33)]), "has 1 to 64 bytes; it has 66.",
            "empty"
        ),
        (SampleRequest().with(payload: ""), "empty", "JSON"),
        (SampleRequest().with(payload: "\u{FEFF}{}"), "byte order mark", "empty"),
        (SampleRequest().with(payload: #"{"a":NaN}"#), #"has "N" at offset 5."#, "empty"),
        (SampleRequest().with(payload: #"{"a":1, }"#), "after a comma", "empty"),
        (SampleRequest().with(payload: "{}\u{0}"), "has 0x00 at offset 2.", "empty"),
        (SampleRequest().with(payload: #"{"a":"#), "ends after 5 bytes", "empty"),
        (SampleRequest().with(payload: "[1]"), #"begins with "[""#, "empty"),
    ]

    @Test(arguments: causes.indices)
    func `the detail names the one cause`(index: Int) async throws {
        let (request, expected, other) = Self.causes[index]
        try await withSimulator { simulator, lines, loop in
            let topics = ["com.example.app", "com.example.app.location-query"]
            let client = try await SimulatorClient.certified(for: topics, by: simulator, on: loop)
            #expect(try await client.send([request]).map(\.status) == [400])
            let detail = try #require(try lines().first?.detail)
            #expect(detail.contains(expected) && !detail.contains(other) && detail.hasSuffix("."), "\(detail)")
        }
    }

    @Test func `the detail of a body that is too long names the push type and its limit`() async throws {
        try await withSimulator { simulator, lines, loop in
            let topics = ["com.example.app", "com.example.app.voip"]
            let client = try await SimulatorClient.certified(for: topics, by: simulator, on: loop)
            let payload = #"{"a":""# + String(repeating: "x", count: 5113) + #""}"#
            let requests = [
                SampleRequest(["apns-push-type": "alert"]),
                SampleRequest(topic: "com.example.app.voip", ["apns-push-type": "voip"]),
            ]
            #expect(try await client.send(requests.map { $0.with(payload: payload) }).map(\.status) == [413, 413])
            #expect(
                try lines().map(\.detail) == [
                    "The body is longer than the 4096 bytes that a push of the type alert may have.",
                    "The body is longer than the 5120 bytes that a push of the type voip may have.",
                ]
            )
        }
    }

    @Test func `a wrong path or method is in the line`() async throws {
        try await withSimulator { simulator, lines, loop in
            let client = try await SimulatorClient.certified(by: simulator, on: loop)
            let requests = [SampleRequest(method: "PUT"), SampleRequest(path: "/4/device"), SampleRequest()]
            let answers = try await client.send(requests)
            #expect(answers.map(\.status) == [405, 404, 200])
            let found = try lines()
            #expect(found.map(\.status) == [405, 404, 200])
            #expect(found.map(\.method) == ["PUT", "POST", nil])
            #expect(found.map(\.path) == ["/3/device/" + SampleRequest.token, "/4/device", nil])
        }
    }
}
