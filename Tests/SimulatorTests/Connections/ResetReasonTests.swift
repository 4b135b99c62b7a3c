import CarillonHTTP2
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@testable import ApplePushSimulator

/// The log has the cause of a stream or connection that was ended for breaking HTTP/2, without secrets.
@Suite struct ResetReasonTests {
    private static let secret = "eyJhbGciOiJFUzI1NiIsImtpZCI6IktFWSJ9.eyJpc3MiOiJURUFNIn0.c2VjcmV0"

    /// The detail of the line that the simulator writes of a reset stream 1.
    private func detail(of frames: [UInt8]) async throws -> String? {
        try await TemporaryFolder.with { folder in
            var detail: String?
            try await TestSimulator.with {
                $0.logFile = folder.file("log")
            } _: { simulator, _, loop in
                var client = try await RawClient.connect(to: simulator, on: loop)
                try await client.send(frames)
                #expect(try await client.resetCode(of: 1) != nil)
                let lines = try RequestLine.all(in: Array(folder.read("log").utf8))
                #expect(lines.map(\.stream) == [1])
                detail = lines.first?.detail
            }
            return detail
        }
    }

    @Test(arguments: [
        ("authorization", "bearer \(secret)\n"), ("Authorization", "bearer \(secret)"),
        ("authorization: bearer \(secret)", ""), ("x-token", " \(secret)"), ("cookie", "\(secret)\r"),
        ("authorization", "bearer ], value: [\(secret)\n"),
    ])
    func `a secret in a field that is reset stays out of the log`(name: String, value: String) async throws {
        let request =
            FrameBytes.headers(1, RawClient.fields([name: value])) + FrameBytes.data(1, Array("{}".utf8), end: true)
        let detail = try #require(try await detail(of: request))
        #expect(!detail.contains("c2VjcmV0") && !detail.contains("eyJpc3Mi"))
        #expect(detail.contains(name.split(separator: ":").first ?? "?"))
    }

    @Test(arguments: [
        ("Apns-Topic", "com.example.app", "has capital letters"),
        ("apns-topic", "com.example.app ", "\"com.example.app \""), ("authorization", "bearer x\n", "white space"),
    ])
    func `the log says what is wrong with a field`(name: String, value: String, words: String) async throws {
        let request =
            FrameBytes.headers(1, RawClient.fields([name: value])) + FrameBytes.data(1, Array("{}".utf8), end: true)
        #expect(try await detail(of: request)?.contains(words) == true)
    }

    @Test(arguments: [":path", ":method", ":scheme"])
    func `a pseudo-header field that is missing is named`(name: String) async throws {
        let fields = RawClient.fields().filter { $0.0 != name }
        let detail = try await detail(
            of: FrameBytes.headers(1, fields) + FrameBytes.data(1, Array("{}".utf8), end: true)
        )
        #expect(detail?.contains("there is no \(name)") == true)
        #expect(detail?.contains("content-length") == false)
    }

    @Test(arguments: [("5", "{}"), ("1", "{}"), ("0", "{}")])
    func `a wrong content-length is logged with its value`(length: String, body: String) async throws {
        let request = FrameBytes.headers(1, RawClient.fields(["content-length": length]))
        let detail = try await detail(of: request + FrameBytes.data(1, Array(body.utf8), end: true))
        #expect(detail?.contains("content-length is \(length), which is not the length of the body") == true)
        #expect(detail?.contains("pseudo-header") == false)
    }

    @Test func `trailers that do not end the stream, and a window that overflows, are named in the log`() async throws {
        let head = FrameBytes.headers(1, RawClient.fields())
        let body = FrameBytes.data(1, Array("{}".utf8))
        let trailers = try await detail(of: head + body + FrameBytes.headers(1, [("x-late", "1")]))
        #expect(trailers?.contains("END_STREAM") == true)
        let window = try await detail(of: head + FrameBytes.windowUpdate(1, (1 << 31) - 1))
        #expect(window?.contains("WINDOW_UPDATE") == true)
        for detail in [trailers, window] { #expect(detail?.contains("pseudo-header") == false) }
    }

    @Test(arguments: [
        ("FRAME_SIZE_ERROR", FrameBytes.frame(3, stream: 1, [0, 0, 0]), "length"),
        ("COMPRESSION_ERROR", FrameBytes.frame(1, flags: 5, stream: 1, [0xbf, 0x30]), "HPACK"),
        ("FLOW_CONTROL_ERROR", FrameBytes.windowUpdate(0, (1 << 31) - 1), "window"),
        ("PROTOCOL_ERROR", FrameBytes.settings([(2, 7)]), "SETTINGS_ENABLE_PUSH"),
    ])
    func `the HTTP/2 error that ends a connection is named`(code: String, frames: [UInt8], words: String) async throws {
        try await TestSimulator.with { simulator, failures, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            try await client.send(frames)
            #expect(try await client.frame { $0.type == 7 } != nil)
            try await loop.eventually("it was told") { failures.all.count == 1 }
            #expect(failures.all.first?.message.contains(code) == true)
            #expect(failures.all.first?.message.contains(words) == true, "\(failures.all)")
        }
    }

    @Test func `a client that resets too many streams gets GOAWAY`() async throws {
        try await TestSimulator.with { simulator, failures, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            var burst: [UInt8] = []
            for stream in stride(from: UInt32(1), to: 4001, by: 2) {
                burst += FrameBytes.headers(stream, RawClient.fields(), end: true) + FrameBytes.reset(stream, 8)
            }
            try? await client.send(burst)
            #expect(try await client.frame { $0.type == 7 } != nil)
            try await loop.eventually("it was told") { failures.all.count == 1 }
            #expect(failures.all.first?.message.contains("reset too many streams") == true, "\(failures.all)")
        }
    }
}
