import CarillonHTTPClient
import CarillonIO
import TestSupport
import Testing

/// Answers whose body matters, most of them from servers that do what a server must not do.
@Suite struct HTTPAnswerTests {
    private static let file = "a,b\n1,2\n"
    /// The file, as gzip compresses it.
    private static let compressed: [UInt8] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff, 0x4b, 0xd4, 0x49, 0xe2, 0x32, 0xd4, 0x31, 0xe2, 2, 0, 0x7b, 0x07, 0x97,
        0x0a, 8, 0, 0, 0,
    ]

    /// A gzip file without an end: one letter, and then 258 times the letter before with each 13 bits, which is fixed Huffman's
    /// longest match.
    private static func bomb(matches: Int) -> [UInt8] {
        var bits: [Bool] = [true, true, false]
        func append(_ code: Int, _ count: Int) { bits += (0..<count).reversed().map { code >> $0 & 1 == 1 } }
        append(0x30 + 0x78, 8)
        for _ in 0..<matches {
            append(0b1100_0101, 8)
            append(0, 5)
        }
        let bytes = stride(from: 0, to: bits.count - 7, by: 8).map { start in
            (0..<8).reduce(0 as UInt8) { bits[start + $1] ? $0 | 1 << UInt8($1) : $0 }
        }
        return [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff] + bytes
    }

    private static func outcome(
        _ headers: String,
        _ body: [UInt8],
        maxBytes: Int = 100_000,
        repeats: Bool = false
    ) async throws -> HTTPOutcome {
        let client = HTTPClient()
        defer { client.stop() }
        return try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                let isRight = request.headers.first == "GET /file HTTP/1.1" && request.header("x-token") == "t"
                try await line.send(Array("HTTP/1.1 \(isRight ? 200 : 400) Any\r\n\(headers)\r\n".utf8) + body)
                while repeats { try await line.send(body) }
            }
        } test: { gateway, port in
            await client.send(
                HTTPRequest(
                    to: "https://127.0.0.1:\(port)/file",
                    headers: [("X-Token", "t")],
                    roots: gateway.rootPEM,
                    allowsPrivate: true,
                    timeout: .seconds(60),
                    maxAnswerBytes: maxBytes
                )
            )
        }
    }

    private static func why(_ outcome: HTTPOutcome) -> String {
        if case .failed(let why) = outcome { why } else { "\(outcome)" }
    }

    @Test(arguments: [
        ("Content-Length: 8\r\n", Array(file.utf8)),
        ("Content-Length: \(compressed.count)\r\nContent-Encoding: gzip\r\n", compressed),
        ("Transfer-Encoding: chunked\r\n", Array("3\r\na,b\r\n5\r\n\n1,2\n\r\n0\r\n\r\n".utf8)),
    ])
    func `the whole body is kept, as it was before it was compressed`(headers: String, body: [UInt8]) async throws {
        let outcome = try await Self.outcome(headers, body)
        #expect(outcome == .answered(status: 200, retryAfter: nil, body: Array(Self.file.utf8)))
    }

    @Test func `a body without an end costs no more than its limit`() async throws {
        let chunk = [UInt8](repeating: 120, count: 16_384)
        let outcome = try await Self.outcome("", chunk, repeats: true)
        #expect(Self.why(outcome) == "its answer is longer than 100000 bytes")
    }

    /// Nothing of it is a header or the body.
    @Test(arguments: [0, 100_000])
    func `the extension of a chunk that has no end costs no more than a limit`(maxBytes: Int) async throws {
        let chunk = Array("1;".utf8) + [UInt8](repeating: 120, count: 16_382)
        let sent = Guarded(0)
        let client = HTTPClient()
        defer { client.stop() }
        let outcome = try await RawGateway.with(alpn: ["http/1.1"]) { line in
            _ = try await line.nextWebhookRequest()
            try await line.send(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8))
            // It ends when the client closes the connection.
            while sent.withLock({ $0 }) < 200 << 20 {
                try await line.send(chunk)
                sent.withLock { $0 += chunk.count }
            }
        } test: { gateway, port in
            await client.send(
                HTTPRequest(
                    to: "https://127.0.0.1:\(port)/",
                    roots: gateway.rootPEM,
                    allowsPrivate: true,
                    timeout: .seconds(60),
                    maxAnswerBytes: maxBytes
                )
            )
        }
        // As much as the system keeps for a connection.
        #expect(sent.withLock { $0 } < 50 << 20)
        if maxBytes == 0 {
            #expect(outcome == .answered(status: 200, retryAfter: nil))
        } else {
            #expect(Self.why(outcome) == "its answer is longer than 216384 bytes, most of which are not of its body")
        }
    }

    @Test func `a few bytes that become many cost no more than the limit`() async throws {
        let bomb = Self.bomb(matches: 20_000)
        #expect(bomb.count < 40_000)
        let headers = "Content-Length: \(bomb.count)\r\nContent-Encoding: gzip\r\n"
        #expect(Self.why(try await Self.outcome(headers, bomb)) == "its answer is longer than 100000 bytes")
        // It is one that libcurl reads: with more room, there is more of it.
        if case .failed(let why) = try await Self.outcome(headers, bomb, maxBytes: 10_000_000) {
            #expect(!why.contains("longer than"))
        }
        #expect(Self.why(try await Self.outcome(headers, bomb, maxBytes: 5_000_000)).contains("longer than 5000000"))
    }

    @Test(arguments: [
        "Content-Encoding: gzip, gzip\r\n", "Content-Encoding: gzip\r\ncontent-encoding: gzip\r\n",
        "Content-Encoding: br\r\n", "Content-Encoding: identity, gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ])
    func `an answer that is encoded several times, or in other ways, is refused`(headers: String) async throws {
        let outcome = try await Self.outcome(headers, Self.compressed)
        #expect(Self.why(outcome) == "its answer is encoded in a way that is not accepted")
    }

    /// libcurl undoes these even if nobody asks for it.
    @Test(arguments: ["gzip", "gzip, gzip, chunked", "deflate"])
    func `a transfer is not decompressed, even if the body does not matter`(encoding: String) async throws {
        let outcome = try await Self.outcome("Transfer-Encoding: \(encoding)\r\n", Self.compressed, maxBytes: 0)
        #expect(Self.why(outcome) == "its answer is encoded in a way that is not accepted")
    }

    @Test func `a compressed body that does not matter may have any encoding`() async throws {
        let outcome = try await Self.outcome("Content-Encoding: br, gzip\r\nContent-Length: 1\r\n", [0], maxBytes: 0)
        #expect(outcome == .answered(status: 200, retryAfter: nil))
    }

    @Test(arguments: [
        ("Content-Length: 9\r\nConnection: close\r\n", Array(file.utf8)),
        ("Content-Length: 12\r\nContent-Encoding: gzip\r\n", Array("no gzip file".utf8)),
    ])
    func `a body that is not whole is no answer`(headers: String, body: [UInt8]) async throws {
        let client = HTTPClient()
        defer { client.stop() }
        let outcome = try await RawGateway.with(alpn: ["http/1.1"]) { line in
            _ = try await line.nextWebhookRequest()
            try await line.send(Array("HTTP/1.1 200 OK\r\n\(headers)\r\n".utf8) + body)
            line.closeNotify()
        } test: { gateway, port in
            await client.send(
                HTTPRequest(
                    to: "https://127.0.0.1:\(port)/",
                    roots: gateway.rootPEM,
                    allowsPrivate: true,
                    timeout: .seconds(60),
                    maxAnswerBytes: 100
                )
            )
        }
        guard case .failed = outcome else {
            Issue.record("\(outcome)")
            return
        }
    }
}
