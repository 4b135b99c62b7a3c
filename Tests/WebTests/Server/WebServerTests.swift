import CarillonIO
import CarillonWeb
import Synchronization
import TestSupport
import Testing

@Suite struct WebServerTests {
    private static func with<R>(
        _ routes: [Route],
        limits: ClientLimits = ClientLimits(),
        _ body: (UInt16) async throws -> R
    ) async throws -> R {
        let server = WebServer(host: "127.0.0.1", port: 0, limits: limits, routes: routes)
        try server.start()
        defer { server.stop() }
        return try await body(server.port)
    }

    private static let hello = Route(.get, "/hello") { request in
        Response(text: "Hello, \(request.parameter("name") ?? "you")!\n")
    }
    private static let echo = Route(.post, "/echo") { request in
        Response(status: 201, headers: [("X-Echo", request.header("x-word") ?? "")], body: request.body)
    }

    @Test func `the server answers by its table of routes`() async throws {
        try await Self.with([Self.hello, Self.echo]) { port in
            let greeting = await RawHTTP.ask(port, "GET /hello?name=J%C3%BCrgen&x")
            #expect(greeting.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(greeting.hasSuffix("\r\n\r\nHello, Jürgen!\n"))
            #expect(greeting.contains("Content-Type: text/plain; charset=utf-8\r\n"))
            #expect(greeting.contains("Cache-Control: no-store\r\n"))
            let echo = await RawHTTP.ask(
                port,
                "POST /echo",
                headers: "X-Word: w\r\nContent-Length: 4\r\n",
                body: "body"
            )
            #expect(echo.hasPrefix("HTTP/1.1 201 "))
            #expect(echo.contains("X-Echo: w\r\n"))
            #expect(echo.hasSuffix("\r\n\r\nbody"))
        }
    }

    @Test func `the server answers HEAD as GET without the body`() async throws {
        try await Self.with([Self.hello]) { port in
            let head = await RawHTTP.ask(port, "HEAD /hello")
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(head.contains("Content-Length: 12\r\n"))
            #expect(head.hasSuffix("\r\n\r\n"))
        }
    }

    @Test(arguments: [
        ("GET /nothing", "HTTP/1.1 404 ", ""), ("POST /hello", "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n"),
        ("DELETE /echo", "HTTP/1.1 405 ", "Allow: POST\r\n"), ("POST /echo/", "HTTP/1.1 404 ", ""),
    ])
    func `the server says what it does not have`(line: String, start: String, header: String) async throws {
        try await Self.with([Self.hello, Self.echo]) { port in
            let answer = await RawHTTP.ask(port, line, headers: "Content-Length: 0\r\n")
            #expect(answer.hasPrefix(start))
            #expect(header.isEmpty || answer.contains(header))
        }
    }

    @Test func `hands over parts of the path and parameters as any text`() async throws {
        let app = Route(.get, "/apps/{name}") { request in
            Response(text: (request.pathParameters["name"] ?? "") + "|" + (request.parameter("q") ?? "none"))
        }
        try await Self.with([app]) { port in
            let answer = await RawHTTP.ask(port, "GET /apps/a%2Fb%3F%26c?q=1%262+3%2B&r")
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("\r\n\r\na/b?&c|1&2 3+"))
            for line in [
                "GET /apps/%00", "GET /apps/%ff", "GET /apps/%2", "GET /apps/a/../b", "GET /apps/", "GET //apps/a",
            ] {
                #expect(await RawHTTP.ask(port, line).hasPrefix("HTTP/1.1 404 "), "\(line)")
            }
            for line in ["GET /apps/a?q=%00", "GET /apps/a?%ff", "GET /apps/a?q=%2"] {
                #expect(await RawHTTP.ask(port, line).hasPrefix("HTTP/1.1 400 "), "\(line)")
            }
        }
    }

    @Test func `a page has a policy that allows nothing from elsewhere`() async throws {
        let page = HTML.document(language: "en") { HTML(.body) { "<b>" } }
        try await Self.with([Route(.get, "/") { _ in Response(page: page) }]) { port in
            let answer = await RawHTTP.ask(port, "GET /")
            #expect(answer.contains("Content-Type: text/html; charset=utf-8\r\n"))
            #expect(
                answer.contains("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self';")
            )
            #expect(answer.contains("frame-ancestors 'none'\r\n") && answer.contains("X-Frame-Options: DENY\r\n"))
            #expect(answer.contains("Referrer-Policy: same-origin\r\n") && answer.contains("nosniff\r\n"))
            #expect(answer.contains("Cache-Control: no-store\r\n"))
            #expect(answer.hasSuffix("<!doctype html>\n<html lang=\"en\"><body>&lt;b&gt;</body></html>\n"))
        }
    }

    @Test func `a static file is sent once`() async throws {
        let file = StaticFile("style.css", contentType: "text/css; charset=utf-8", Array("p { margin: 0 }".utf8))
        let other = StaticFile("style.css", contentType: "text/css; charset=utf-8", Array("p { margin: 1px }".utf8))
        #expect(file.link != other.link)
        try await Self.with([file.route]) { port in
            let first = await RawHTTP.ask(port, "GET \(file.link.text)")
            #expect(first.contains("max-age=31536000, immutable\r\n") && first.hasSuffix("p { margin: 0 }"))
            let tag = try #require(first.firstMatch(of: /ETag: (\S+)/)).output.1
            for known in [String(tag), "\"x\", W/\(tag)", "*"] {
                let again = await RawHTTP.ask(port, "GET \(file.link.text)", headers: "If-None-Match: \(known)\r\n")
                #expect(again.hasPrefix("HTTP/1.1 304 ") && !again.contains("margin"))
            }
            let changed = await RawHTTP.ask(port, "GET /assets/style.css", headers: "If-None-Match: \"x\"\r\n")
            #expect(changed.hasPrefix("HTTP/1.1 200 ") && changed.contains("Cache-Control: no-cache\r\n"))
        }
    }

    @Test func `the server serves several requests of one connection`() async throws {
        try await Self.with([Self.hello]) { port in
            let requests = ["a", "b", "c"].map { name in
                "GET /hello?name=\(name) HTTP/1.1\r\nHost: t\r\n\(name == "c" ? "Connection: close\r\n" : "")\r\n"
            }
            let text = await RawHTTP.exchange(port, requests.joined())
            let answers = text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("Hello") }
            #expect(answers == ["Hello, a!", "Hello, b!", "Hello, c!"])
        }
    }

    @Test func `the server serves many requests at once`() async throws {
        try await Self.with([Self.hello]) { port in
            let wrong = await withTaskGroup(of: Bool.self) { group in
                for name in 0..<50 {
                    group.addTask {
                        await !RawHTTP.ask(port, "GET /hello?name=\(name)").hasSuffix("Hello, \(name)!\n")
                    }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(wrong == 0)
        }
    }

    @Test(arguments: [1_001, 8_000])
    func `a body that is too large is read to its end, and then refused`(count: Int) async throws {
        var limits = ClientLimits()
        limits.bodyBytes = 1_000
        try await Self.with([Self.echo], limits: limits) { port in
            let announced = await RawHTTP.ask(
                port,
                "POST /echo",
                headers: "Content-Length: \(count)\r\n",
                body: String(repeating: "x", count: count)
            )
            #expect(announced.hasPrefix("HTTP/1.1 413 "))
            let chunk = "3E8\r\n" + String(repeating: "x", count: 1_000) + "\r\n"
            let chunked = await RawHTTP.ask(
                port,
                "POST /echo",
                headers: "Transfer-Encoding: chunked\r\n",
                body: String(repeating: chunk, count: max(2, count / 1_000)) + "0\r\n\r\n"
            )
            #expect(chunked.hasPrefix("HTTP/1.1 413 "))
            let whole = await RawHTTP.ask(
                port,
                "POST /echo",
                headers: "Transfer-Encoding: chunked\r\n",
                body: chunk + "0\r\n\r\n"
            )
            #expect(whole.hasPrefix("HTTP/1.1 201 "))
        }
    }

    @Test func `a body that is far too large, or whose client waits for leave to send it, is not read`() async throws {
        var limits = ClientLimits()
        limits.bodyBytes = 1_000
        try await Self.with([Self.echo], limits: limits) { port in
            for headers in ["Content-Length: 8001\r\n", "Content-Length: 1001\r\nExpect: 100-continue\r\n"] {
                let announced = await RawHTTP.ask(port, "POST /echo", headers: headers)
                #expect(announced.hasPrefix("HTTP/1.1 413 "))
            }
            let chunk = "3E8\r\n" + String(repeating: "x", count: 1_000) + "\r\n"
            let endless = await RawHTTP.ask(
                port,
                "POST /echo",
                headers: "Transfer-Encoding: chunked\r\n",
                body: String(repeating: chunk, count: 9)
            )
            #expect(!endless.contains("201"))
        }
    }

    @Test func `endless headers are refused`() async throws {
        try await Self.with([Self.hello]) { port in
            let answer = await RawHTTP.ask(
                port,
                "GET /hello",
                headers: "X-Long: " + String(repeating: "x", count: 100_000) + "\r\n"
            )
            #expect(!answer.contains("200 OK"))
        }
    }

    @Test func `a connection that sends nothing is closed`() async throws {
        var limits = ClientLimits()
        limits.idleSeconds = 1
        try await Self.with([Self.hello], limits: limits) { port in
            let answer = await RawHTTP.exchange(port, "GET /hel")
            #expect(!answer.contains("200 OK"))
        }
    }

    @Test func `judges a request by its headers, before its body`() async throws {
        let server = WebServer(
            host: "127.0.0.1",
            port: 0,
            admission: { $0.header("X-Word") == "open" ? nil : Response(text: "no\n", status: 403) },
            routes: [Self.echo]
        )
        try server.start()
        defer { server.stop() }
        // The body that is announced never comes.
        let waiting = "Content-Length: 1000\r\nExpect: 100-continue\r\n"
        let early = await RawHTTP.ask(server.port, "POST /echo", headers: waiting)
        #expect(early.hasPrefix("HTTP/1.1 403 ") && early.hasSuffix("no\n"))
        let body = String(repeating: "x", count: 500_000)
        let late = await RawHTTP.ask(server.port, "POST /echo", headers: "Content-Length: 500000\r\n", body: body)
        #expect(late.hasPrefix("HTTP/1.1 403 ") && late.hasSuffix("no\n"))
        let headers = "X-Word: open\r\nContent-Length: 4\r\n"
        let answer = await RawHTTP.ask(server.port, "POST /echo", headers: headers, body: "body")
        #expect(answer.hasPrefix("HTTP/1.1 201 "))
    }

    @Test func `the server sends the responses under way before it ends, and takes no further request`() async throws {
        let (started, allowed) = (Gate(), Gate())
        let slow = Route(.get, "/slow") { _ in
            started.open()
            await allowed.pass()
            return Response(text: "late")
        }
        // Not `slow`: a request before the server drains would wait for what follows it here.
        let quick = Route(.get, "/quick") { _ in Response(text: "early") }
        // Nobody else listens there afterwards.
        let port = ReservedPort.choose()
        let server = WebServer(host: "127.0.0.1", port: port, routes: [slow, quick])
        try server.start()
        let answer = Task { await RawHTTP.ask(port, "GET /slow") }
        await started.pass()
        try await TestLoop.with { loop in
            async let drained: Void = server.drain(on: loop, within: .seconds(60))
            try await loop.eventually("no further connection") {
                await RawHTTP.ask(port, "GET /quick") == "no connection"
            }
            allowed.open()
            await drained
        }
        server.stop()
        #expect(await answer.value.hasSuffix("late"))
    }

    @Test func `a new client is served although others keep their connections, or send half a request`() async throws {
        var limits = ClientLimits()
        (limits.connections, limits.idleSeconds) = (32, 600)
        let closed = Atomic(0)
        let server = WebServer(
            host: "127.0.0.1",
            port: 0,
            limits: limits,
            observer: { if case .idleConnectionClosed = $0 { closed.add(1, ordering: .relaxed) } },
            routes: [Self.hello, Self.echo]
        )
        try server.start()
        let port = server.port
        let idle = [
            "", "POST /echo HTTP/1.1\r\nHo", "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nbod",
            "GET /hello HTTP/1.1\r\nHost: t\r\n\r\n",
        ]
        await withTaskGroup(of: Void.self) { group in
            for place in 0..<100 { group.addTask { _ = await RawHTTP.exchange(port, idle[place % idle.count]) } }
            while closed.load(ordering: .relaxed) < 70 { await Task.yield() }
            for _ in 0..<20 {
                let answer = await RawHTTP.ask(port, "GET /hello")
                #expect(answer.hasSuffix("Hello, you!\n"), "\(answer)")
            }
            server.stop()
        }
    }

    @Test func `requests after the server has begun to end are told that they were not done`() async throws {
        let (started, startedInput) = AsyncStream<Void>.makeStream()
        let gates = [Gate(), Gate()]
        func slow(_ place: Int) -> Route {
            Route(.get, "/slow\(place)") { _ in
                startedInput.yield()
                await gates[place].pass()
                return Response(text: "late")
            }
        }
        let refusing: HTTPRefusal.Writing = { refusal, _ in Response(text: refusal.cause == .stopping ? "not done" : "")
        }
        let port = ReservedPort.choose()
        let routes = [slow(0), slow(1), Self.hello]
        let server = WebServer(host: "127.0.0.1", port: port, refusing: refusing, routes: routes)
        try server.start()
        let one = Task { await RawHTTP.ask(port, "GET /slow0") }
        let pair = "GET /slow1 HTTP/1.1\r\nHost: t\r\n\r\nGET /hello HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
        let two = Task { await RawHTTP.exchange(port, pair) }
        var begun = 0
        for await _ in started {
            begun += 1
            if begun == 2 { break }
        }
        try await TestLoop.with { loop in
            async let drained: Void = server.drain(on: loop, within: .seconds(60))
            try await loop.eventually("no further connection") {
                await RawHTTP.ask(port, "GET /hello") == "no connection"
            }
            gates[1].open()
            let answers = await two.value
            #expect(answers.contains("late") && answers.hasSuffix("not done"), "\(answers)")
            gates[0].open()
            await drained
        }
        server.stop()
        #expect(await one.value.hasSuffix("late"))
    }

    @Test func `the server stops at once and cancels requests under way`() async throws {
        let (started, cancelled) = (Gate(), Gate())
        let forever = Route(.get, "/forever") { _ in
            started.open()
            await Gate().pass()
            if Task.isCancelled { cancelled.open() }
            return Response(text: "late")
        }
        let server = WebServer(host: "127.0.0.1", port: 0, routes: [forever])
        try server.start()
        let port = server.port
        let answer = Task { await RawHTTP.ask(port, "GET /forever") }
        await started.pass()
        server.stop()
        #expect(await !answer.value.contains("late"))
        await cancelled.pass()
        server.stop()
        #expect(server.port == 0)
    }

    /// libmicrohttpd ends the process when it is stopped with a request that nobody has woken.
    @Test func `the server may stop at the moment at which its handlers answer`() async throws {
        for round in 0..<100 {
            let entered = Atomic(0)
            let mayAnswer = Atomic(false)
            let server = WebServer(
                host: "127.0.0.1",
                port: 0,
                routes: [
                    Route(.get, "/") { _ in
                        entered.add(1, ordering: .relaxed)
                        while !mayAnswer.load(ordering: .relaxed) { await Task.yield() }
                        return Response(text: "Late.")
                    }
                ]
            )
            try server.start()
            let port = server.port
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<16 { group.addTask { _ = await RawHTTP.ask(port, "GET /") } }
                while entered.load(ordering: .relaxed) < 16 { await Task.yield() }
                mayAnswer.store(true, ordering: .relaxed)
                for _ in 0..<(round % 10) { await Task.yield() }
                server.stop()
            }
        }
    }

    @Test func `a server is freed without being stopped`() async throws {
        let server = WebServer(host: "localhost", port: 0, routes: [Self.hello])
        try server.start()
        let answer = await RawHTTP.ask(server.port, "GET /hello")
        #expect(answer.hasSuffix("Hello, you!\n"))
    }

    @Test func `a port that is in use is named`() throws {
        let first = WebServer(host: "127.0.0.1", port: 0, routes: [])
        try first.start()
        defer { first.stop() }
        let second = WebServer(host: "127.0.0.1", port: first.port, routes: [])
        let error = #expect(throws: IOError.self) { try second.start() }
        #expect(error?.code == .addressInUse)
        #expect(error?.message.hasPrefix("port \(first.port) is in use on 127.0.0.1") == true)
    }

    @Test(arguments: ["192.0.2.1", "no-such-host.invalid", "::zz"])
    func `an address that is not one of this machine is named`(host: String) {
        let server = WebServer(host: host, port: 0, routes: [])
        let error = #expect(throws: IOError.self) { try server.start() }
        #expect(error?.code == .addressUnavailable)
        #expect(error?.message.contains("127.0.0.1 or 0.0.0.0") == true)
    }
}
