import CarillonIO
import CarillonWeb
import Synchronization
import TestSupport
import Testing

/// Responses that come in pieces while the server goes on with others.
@Suite struct ResponseStreamTests {
    private static func server(_ limits: ClientLimits = ClientLimits(), _ feed: @escaping ResponseStream.Feed)
        -> WebServer
    {
        WebServer(
            host: "127.0.0.1",
            port: 0,
            limits: limits,
            routes: [
                Route(.get, "/stream") { _ in
                    Response(stream: ResponseStream(feed), contentType: "text/event-stream")
                },
                Route(.get, "/hello") { _ in Response(text: "hello") },
            ]
        )
    }

    @Test func `pieces arrive in order, until the feed returns`() async throws {
        try await TestLoop.with { loop in
            let server = Self.server { stream in
                for number in 0..<200 {
                    stream.send("<\(number)>")
                    if number.isMultiple(of: 50) { await Task.yield() }
                }
            }
            try server.start()
            defer { server.stop() }
            let answer = await RawHTTP.ask(server.port, "GET /stream")
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Content-Type: text/event-stream\r\n"))
            #expect(answer.contains("Cache-Control: no-store\r\n"))
            #expect(Self.numbers(in: answer) == Array(0..<200))
        }
    }

    /// Without the marks of chunked encoding, which may be in the middle of a piece.
    private static func numbers(in answer: String) -> [Int] {
        let body = answer.split(separator: "\r\n\r\n", maxSplits: 1)[1]
        let text = body.split(separator: "\r\n").filter { !$0.allSatisfy(\.isHexDigit) }.joined()
        return text.split(separator: "<").compactMap { Int($0.dropLast()) }
    }

    @Test
    func `the server stops while streams are open that say nothing, and their feeds are cancelled`() async throws {
        try await TestLoop.with { loop in
            let ended = Atomic(0)
            let begun = Atomic(0)
            let server = Self.server { stream in
                stream.send("begun")
                begun.add(1, ordering: .relaxed)
                await Gate().pass()
                ended.add(1, ordering: .relaxed)
            }
            try server.start()
            let port = server.port
            async let answers = withTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { await RawHTTP.ask(port, "GET /stream") } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            try await loop.eventually("the streams begin") { begun.load(ordering: .relaxed) == 20 }
            // Others are served meanwhile.
            #expect(await RawHTTP.ask(port, "GET /hello").hasSuffix("hello"))
            server.stop()
            #expect(await answers.count { $0.contains("begun") } == 20)
            try await loop.eventually("the feeds end") { ended.load(ordering: .relaxed) == 20 }
        }
    }

    @Test func `draining ends streams`() async throws {
        try await TestLoop.with { loop in
            let begun = Atomic(0)
            let server = Self.server { stream in
                stream.send("begun")
                begun.add(1, ordering: .relaxed)
                await Gate().pass()
            }
            try server.start()
            let port = server.port
            async let answer = RawHTTP.ask(port, "GET /stream")
            try await loop.eventually("the stream begins") { begun.load(ordering: .relaxed) == 1 }
            let start = MonotonicInstant.now
            await server.drain(on: loop, within: .seconds(60))
            #expect(MonotonicInstant.now - start < .seconds(30))
            #expect(await answer.contains("begun"))
            server.stop()
        }
    }

    @Test func `a client that is gone ends its feed at the next piece`() async throws {
        try await TestLoop.with { loop in
            let ended = Atomic(false)
            let server = Self.server { stream in
                while !stream.isClosed {
                    stream.send("piece")
                    await Task.yield()
                }
                ended.store(true, ordering: .relaxed)
            }
            try server.start()
            defer { server.stop() }
            try await RawHTTP.leave(server.port, "GET /stream HTTP/1.1\r\nHost: test\r\n\r\n")
            try await loop.eventually("the feed ends") { ended.load(ordering: .relaxed) }
        }
    }

    @Test func `bytes that a client does not read are not kept without end`() async throws {
        try await TestLoop.with { loop in
            let sent = Atomic(0)
            let ended = Atomic(false)
            let server = Self.server { stream in
                let piece = String(repeating: "x", count: 64 * 1024)
                // More than the sockets can hold.
                while !stream.isClosed, sent.load(ordering: .relaxed) < 5_000 {
                    stream.send(piece)
                    sent.add(1, ordering: .relaxed)
                    await Task.yield()
                }
                ended.store(true, ordering: .relaxed)
            }
            try server.start()
            defer { server.stop() }
            try await RawHTTP.hold(server.port, "GET /stream HTTP/1.1\r\nHost: test\r\n\r\n") {
                try await loop.eventually("the feed ends") { ended.load(ordering: .relaxed) }
            }
            #expect(sent.load(ordering: .relaxed) < 5_000)
        }
    }
}
