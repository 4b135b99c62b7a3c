import CarillonHTTPClient
import CarillonIO
import TestSupport
import Testing

/// Requests to servers over TLS on this machine, most of which do what a server must not do.
@Suite struct HTTPClientTests {
    private static let timeout = Duration.seconds(60)

    /// What became of a request to a server that reads requests, and answers each with the script.
    private static func outcome(
        of script: @escaping @Sendable (inout RawLine) async throws -> Void,
        certificate: ServerCertificate? = nil,
        host: String = "127.0.0.1",
        allowsPrivate: Bool = true,
        timeout: Duration = timeout
    ) async throws -> HTTPOutcome {
        let client = HTTPClient()
        defer { client.stop() }
        return try await RawGateway.with(certificate: certificate, alpn: ["http/1.1"]) { line in
            while try await line.nextWebhookRequest() != nil { try await script(&line) }
        } test: { gateway, port in
            await client.send(
                post(
                    "https://\(host):\(port)/hook",
                    roots: gateway.rootPEM,
                    allowsPrivate: allowsPrivate,
                    timeout: timeout
                )
            )
        }
    }

    private static func post(
        _ url: String,
        roots: String? = nil,
        allowsPrivate: Bool = true,
        timeout: Duration = timeout
    ) -> HTTPRequest {
        HTTPRequest(
            to: url,
            headers: [("Content-Type", "application/json"), ("webhook-id", "7")],
            body: Array(#"{"a":1}"#.utf8),
            roots: roots,
            allowsPrivate: allowsPrivate,
            timeout: timeout
        )
    }

    private static func why(_ outcome: HTTPOutcome) -> String {
        if case .failed(let why) = outcome { why } else { "\(outcome)" }
    }

    @Test
    func `a request arrives as it was given, and leaves no connection to a private address that others could use`()
        async throws
    {
        let client = HTTPClient()
        defer { client.stop() }
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                let isRight =
                    request.headers.first == "POST /hook?a=b HTTP/1.1" && request.body == #"{"a":1}"#
                    && request.header("content-type") == "application/json" && request.header("webhook-id") == "7"
                    && request.header("expect") == nil
                try await line.respond(isRight ? 202 : 400)
            }
        } test: { gateway, port in
            for number in 1...3 {
                let post = Self.post("https://127.0.0.1:\(port)/hook?a=b", roots: gateway.rootPEM)
                #expect(await client.send(post) == .answered(status: 202, retryAfter: nil))
                #expect(gateway.connections == number)
            }
        }
    }

    @Test func `the status and what the server asks for are told`() async throws {
        let outcome = try await Self.outcome { try await $0.respond(503, "Retry-After: 120\r\n") }
        #expect(outcome == .answered(status: 503, retryAfter: .seconds(120)))
        let tooLong = try await Self.outcome { try await $0.respond(503, "Retry-After: 99999999999999999999\r\n") }
        #expect(tooLong == .answered(status: 503, retryAfter: .seconds(100 * 365 * 86_400)))
    }

    @Test func `a redirect is not followed`() async throws {
        let outcome = try await Self.outcome {
            try await $0.respond(302, "Location: http://169.254.169.254/latest/meta-data\r\n")
        }
        #expect(outcome == .answered(status: 302, retryAfter: nil))
    }

    @Test func `a body without an end is not read to its end`() async throws {
        let outcome = try await Self.outcome { line in
            try await line.send(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
            let chunk = [UInt8](repeating: 120, count: 16_384)
            while true { try await line.send(chunk) }
        }
        #expect(outcome == .answered(status: 200, retryAfter: nil))
    }

    @Test func `headers that are too large end the request`() async throws {
        let line = "X-Large: " + String(repeating: "x", count: 1_000) + "\r\n"
        let outcome = try await Self.outcome {
            try await $0.respond(200, String(repeating: line, count: 64))
        }
        #expect(Self.why(outcome) == "the headers of its answer are larger than 16 kB")
    }

    @Test func `a server that never answers costs only the time limit`() async throws {
        let outcome = try await Self.outcome(of: { await $0.stayUntilStopped() }, timeout: .milliseconds(300))
        #expect(Self.why(outcome) == "it did not answer in time")
    }

    @Test func `a server that is silent delays no request to another`() async throws {
        let silent = try SilentPort(host: "127.0.0.1")
        let client = HTTPClient()
        defer { client.stop() }
        async let slow = client.send(Self.post("https://127.0.0.1:\(silent.port)/"))
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while try await line.nextWebhookRequest() != nil { try await line.respond(200) }
        } test: { gateway, port in
            let post = Self.post("https://127.0.0.1:\(port)/", roots: gateway.rootPEM)
            #expect(await client.send(post) == .answered(status: 200, retryAfter: nil))
        }
        client.stop()
        #expect(await slow == .stopped)
        #expect(await client.send(Self.post("https://127.0.0.1:\(silent.port)/")) == .stopped)
    }

    @Test(arguments: [FlawedServer.unknownAuthority, .otherName, .expired])
    func `nothing is sent to a server whose certificate is wrong`(flaw: FlawedServer) async throws {
        let outcome = try await Self.outcome(of: { try await $0.respond(200) }, certificate: flaw.certificate())
        #expect(Self.why(outcome) == "its certificate is not trusted, or is for another name")
    }

    /// libcurl would take an empty proxy for none.
    @Test(arguments: ["127.0.0.1", "localhost"], [nil, ""])
    func `a private address is refused whatever its name, before anything connects`(
        host: String,
        proxy: String?
    ) async throws {
        let client = HTTPClient(proxy: proxy)
        defer { client.stop() }
        try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while try await line.nextWebhookRequest() != nil { try await line.respond(200) }
        } test: { gateway, port in
            let url = "https://\(host):\(port)/"
            let refused = await client.send(Self.post(url, roots: gateway.rootPEM, allowsPrivate: false))
            #expect(Self.why(refused).contains("is private or reserved"), "\(refused)")
            #expect(gateway.connections == 0)
        }
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "https://", "gopher://127.0.0.1:1/"])
    func `nothing but http and https is spoken`(url: String) async throws {
        let client = HTTPClient()
        defer { client.stop() }
        guard case .failed = await client.send(Self.post(url)) else {
            Issue.record("\(url) was not refused")
            return
        }
    }
}
