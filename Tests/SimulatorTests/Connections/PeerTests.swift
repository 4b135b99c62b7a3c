import CarillonHTTP2
import CarillonIO
import CarillonTLS
import FoundationEssentials
import TestSupport
import Testing

@testable import ApplePushSimulator

/// Foreign clients: what Apple accepts is accepted, and failures are recorded.
@Suite struct PeerTests {
    private func identity(from simulator: APNsSimulator, isExpired: Bool = false) throws -> Identity {
        let issued = try simulator.issueCertificate(topics: ["com.example.app"], isExpired: isExpired)
        return try Identity(certificate: issued.certificate, privateKey: issued.privateKey)
    }

    private var now: Int64 { Int64(Date().timeIntervalSince1970) }

    @Test(arguments: [[], ["http/1.1"], ["http/1.1", "h2"], ["spdy/3", "http/1.1"]])
    func `a client that does not offer h2 can speak it`(alpn: [String]) async throws {
        try await TestSimulator.with { simulator, failures, loop in
            let client = try await SimulatorClient.connect(to: simulator, alpn: alpn, on: loop)
            let token = try TestProvider().appleSample(issuedAt: now)
            #expect(try await client.send([SampleRequest()], authorization: token).map(\.status) == [200])
            #expect(failures.all.isEmpty)
        }
    }

    @Test(arguments: [
        ([], "the client offered no application protocol (ALPN), and h2 is required"),
        (["http/1.1"], "the client offered no application protocol that this program supports"),
    ])
    func `pedantic checks refuse a connection without h2, with the reason`(alpn: [String], reason: String) async throws
    {
        try await TestSimulator.with {
            $0.isPedantic = true
        } _: { simulator, failures, loop in
            do {
                let client = try await SimulatorClient.connect(to: simulator, alpn: alpn, on: loop)
                try await client.waitForClose()
            } catch {
                #expect((error as? TLSError)?.alert == 120)
            }
            try await loop.eventually("it was told") { failures.all.map(\.message) == [reason] }
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            let token = try TestProvider().authorization(issuedAt: now)
            #expect(try await client.send([SampleRequest()], authorization: token).map(\.status) == [200])
        }
    }

    @Test
    func `failed handshakes and connections that break the rules have their lines in the log`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestSimulator.with {
                $0.logFile = folder.file("log")
            } _: { simulator, failures, loop in
                let port = simulator.port
                let rude = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(30), on: loop)
                let text = Array("GET / HTTP/1.1\r\n\r\n".utf8)
                _ = try rude.write(text.span.bytes)
                try await loop.eventually("it was told") { failures.all.count == 1 }
                var old = try await simulator.connect(alpn: [], on: loop)
                try await old.send(text, until: .now + .seconds(30), on: loop)
                try await loop.eventually("it was told") { failures.all.count == 2 }
                let lines = try folder.read("log").split(separator: "\n")
                #expect(lines.count == 2)
                #expect(
                    lines.first?.contains(
                        #""connection":1,"failed":"handshake","error":"the client does not speak TLS"#
                    ) == true
                )
                #expect(
                    lines.last?.hasSuffix(
                        #""connection":2,"failed":"connection","error":"the peer does not begin with the HTTP/2 preface"}"#
                    ) == true
                )
                #expect(await simulator.statistics().failedHandshakes == 1)
            }
        }
    }

    @Test func `failed handshakes with the feedback service have their lines in the log`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestSimulator.with {
                $0.feedbackPort = 0
                $0.logFile = folder.file("log")
            } _: { simulator, failures, loop in
                let port = try #require(simulator.feedbackPort)
                let rude = try await TCP.connect(host: "127.0.0.1", port: port, timeout: .seconds(30), on: loop)
                _ = try rude.write("GET / HTTP/1.1\r\n\r\n".utf8.span.bytes)
                try await loop.eventually("it was told") { failures.all.count == 1 }
                let words = #""failed":"handshake","error":"The feedback service: the client does not speak TLS"#
                #expect(try folder.read("log").contains(words))
                #expect(await simulator.statistics().failedHandshakes == 1)
            }
        }
    }

    @Test func `an expired client certificate gets the TLS alert 45`() async throws {
        try await TestSimulator.with { simulator, failures, loop in
            let identity = try identity(from: simulator, isExpired: true)
            let error = await #expect(throws: TLSError.self) {
                var stream = try await simulator.connect(identity: identity, on: loop)
                var bytes = [UInt8](repeating: 0, count: 1_000)
                _ = try await stream.receive(into: &bytes, until: .now + .seconds(30), on: loop)
            }
            #expect(error?.alert == 45)
            #expect(error?.isAboutCertificate == true)
            try await loop.eventually("it was told") { failures.all.map(\.isHandshake) == [true] }
        }
    }

    @Test func `a client that continues to write still receives the alert about its certificate`() async throws {
        try await TestSimulator.with { simulator, failures, loop in
            let identity = try identity(from: simulator, isExpired: true)
            var stream = try await simulator.connect(identity: identity, on: loop)
            try await loop.eventually("it was told") { failures.all.count == 1 }
            let deadline = MonotonicInstant.now + .seconds(30)
            for _ in 0..<3 {
                try await stream.send(FrameBytes.preface + FrameBytes.settings(), until: deadline, on: loop)
            }
            let error = await #expect(throws: TLSError.self) {
                var bytes = [UInt8](repeating: 0, count: 1_000)
                _ = try await stream.receive(into: &bytes, until: deadline, on: loop)
            }
            #expect(error?.alert == 45)
        }
    }

    @Test func `an answer to HEAD has no body`() async throws {
        try await TestSimulator.with { simulator, _, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            try await client.send(FrameBytes.headers(1, RawClient.fields([":method": "HEAD"]), end: true))
            let answer = try #require(try await client.frame { $0.stream == 1 })
            #expect(answer.isHeaders && answer.endsStream)
        }
    }

    @Test func `more header fields than the SETTINGS allow are answered with 431`() async throws {
        try await TestSimulator.with { simulator, _, loop in
            let client = try await SimulatorClient.connect(to: simulator, on: loop)
            func request(_ count: Int) -> SampleRequest {
                SampleRequest(["apns-collapse-id": String(repeating: "c", count: count)])
            }
            let token = try TestProvider().authorization(issuedAt: now)
            let answers = try await client.send(
                [7_000, 8_000, 14_000, 50_000].map(request) + [SampleRequest()],
                authorization: token
            )
            #expect(answers.map(\.status) == [400, 431, 431, 431, 200])
            #expect(answers[1].body.isEmpty)
        }
    }

    @Test func `the log has a detail beside Apple's reason`() async throws {
        try await TemporaryFolder.with { folder in
            try await TestSimulator.with {
                $0.logFile = folder.file("log")
                $0.isPedantic = true
            } _: { simulator, _, loop in
                let client = try await SimulatorClient.connect(to: simulator, on: loop)
                let token = try TestProvider().appleSample(issuedAt: now)
                let answer = try #require(try await client.send([SampleRequest()], authorization: token).first)
                #expect((answer.status, answer.body) == (403, #"{"reason":"InvalidProviderToken"}"#))
                let line = try folder.read("log")
                #expect(
                    line.contains(#""reason":"InvalidProviderToken","detail":"The provider token's signature is DER;"#)
                )
            }
        }
    }

    @Test func `a request that was reset while it waited does not affect others on its connection`() async throws {
        try await TestSimulator.with { simulator, failures, loop in
            var client = try await RawClient.connect(to: simulator, on: loop)
            func request(_ stream: UInt32) -> [UInt8] {
                // Without a good topic, so that its answer has a body.
                FrameBytes.headers(stream, RawClient.fields(["apns-topic": "!"]))
                    + FrameBytes.data(stream, Array("{}".utf8), end: true)
            }
            try await client.send(request(1) + FrameBytes.reset(1, 8) + request(3))
            try await loop.eventually("it was told") { await simulator.statistics().requests == 2 }
            #expect(await simulator.statistics().byReason == ["BadTopic": 1])
            #expect(await simulator.statistics().unanswered == 1)
            #expect(await simulator.statistics().openConnections == 1)
            #expect(failures.all.isEmpty)
        }
    }

    /// The case of h2spec 5.1 that nghttp2 does not check: the client sends on a closed stream.
    @Test(arguments: [true, false])
    func `a client that sends on a closed stream gets STREAM_CLOSED, and the log says so`(isData: Bool) async throws {
        try await TestSimulator.with { simulator, failures, loop in
            var client = try await RawClient.connect(to: simulator, hasCertificate: false, on: loop)
            let request = FrameBytes.headers(1, RawClient.fields(), end: true)
            try await client.send(request)
            // The answer's body ends the stream.
            _ = try await client.frame { $0.isData && $0.endsStream }
            try await client.send(isData ? FrameBytes.data(1, [1], end: true) : request)
            #expect(try await client.frame { $0.type == 7 }?.payload == [0, 0, 0, 1, 0, 0, 0, 5])
            while try await client.frame(where: { _ in true }) != nil {}
            #expect(failures.all.map(\.message) == ["the peer sent more on stream 1, which it had ended"])
        }
    }

    @Test
    func `a client that verifies the certificate reaches it by each of its names, and by no other`() async throws {
        try await TestSimulator.with {
            $0.serverNames += ["apns.test", "192.0.2.7"]
        } _: { simulator, failures, loop in
            for (name, isRight) in [("apns.test", true), ("192.0.2.7", true), ("other.test", false)] {
                let context = try TLSContext.client(trust: .pem(simulator.rootPEM), alpn: ["h2"])
                let socket = try await TCP.connect(
                    host: "127.0.0.1",
                    port: simulator.port,
                    timeout: .seconds(30),
                    on: loop
                )
                var stream = try TLSStream(client: context, host: name, socket: socket)
                do throws(TLSError) {
                    try await stream.shakeHands(until: .now + .seconds(30), on: loop)
                    #expect(isRight)
                } catch {
                    #expect(!isRight && error.code == .wrongHostName, "\(name): \(error)")
                }
            }
        }
    }

    @Test(arguments: ["", "two words", "apns..test", "-x.test", "*", "[::1]", "häuschen.test"])
    func `a name that no certificate can have is refused`(name: String) {
        var configuration = SimulatorConfiguration()
        configuration.serverNames.append(name)
        let error = #expect(throws: SimulatorError.self) { try APNsSimulator(configuration) }
        #expect(error?.message.contains("\"\(name)\"") == true)
    }
}
