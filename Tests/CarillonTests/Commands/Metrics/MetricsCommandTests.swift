import CarillonIO
import CarillonText
import Glibc
import TestSupport
import Testing

/// `carillon metrics`, with the simulator's export service and with hostile ones.
@Suite(.shop) struct MetricsCommandTests {
    private static let token = "canary-export-token-4711"
    private static let rows = """
        SELECT m.day, m.push_type, m.status, m.count FROM carillon.delivery_metrics m ORDER BY 1, 2, 3
        """
    private static let day = TimeText.day(WallClock.microseconds - 86_400_000_000)

    private func setToken(_ app: String = "shop", expires: String = "2100-01-01") async throws {
        let file = try shop.folder.write("token", Self.token + "\n")
        let words = ["metrics", "set-token", app, "--export-token-file", file, "--expires", expires]
        let set = try await shop.run(words + ["--team-id", "ABCDE12345"])
        #expect(set.status == 0 && set.output.contains("until \(expires)"), "\(set.errors)")
        #expect(!(set.output + set.errors).contains(Self.token))
    }

    /// Runs `metrics fetch` with the simulator's export service.
    private func fetch(_ answers: [String] = [], _ more: [String] = []) async throws -> ProgramRun {
        try await TestLoop.with { loop in
            let words = ["simulator", "--port", "0", "--http", "127.0.0.1:0", "--ca-out", shop.folder.file("ca.pem")]
            let simulator = try BackgroundProgram(words + answers.flatMap { ["--answer", $0] }, in: shop.folder)
            let line = try await simulator.line(containing: "is listening", on: loop)
            let port = try #require(line.firstMatch(of: /"http_port":(\d+)/)?.output.1)
            let fetch = ["metrics", "fetch", "--service", "http://127.0.0.1:\(port)", "--allow-private"]
            let run = try await shop.run(fetch + more)
            #expect(try await simulator.end(by: SIGTERM, on: loop) == .status(0))
            return run
        }
    }

    /// Runs it with a service that answers by the script.
    private func fetch(
        from script:
            @escaping @Sendable (_ target: String, _ origin: String) -> (status: Int, headers: String, body: String)
    ) async throws -> ProgramRun {
        let tokens = Guarded([String]())
        let port = Guarded(UInt16(0))
        return try await RawGateway.with(alpn: ["http/1.1"]) { line in
            while let request = try await line.nextWebhookRequest() {
                let target = request.headers[0].split(separator: " ")[1]
                if request.header("x-apple-cloudkit-management-token") != nil {
                    tokens.withLock { $0.append(String(target)) }
                }
                let (status, headers, body) = script(String(target), "https://127.0.0.1:\(port.withLock { $0 })")
                let head = "HTTP/1.1 \(status) Any\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n"
                try await line.send(Array((head + body).utf8))
            }
        } test: { gateway, number in
            port.withLock { $0 = number }
            let root = try shop.folder.write("service.pem", gateway.rootPEM)
            let words = [
                "metrics", "fetch", "--service", "https://127.0.0.1:\(number)", "--allow-private", "--ca", root,
            ]
            let run = try await shop.run(words)
            // The file's URL never gets it.
            #expect(tokens.withLock { $0 }.allSatisfy { !$0.hasPrefix("/file") })
            return run
        }
    }

    @Test(arguments: [[], ["poll=200:dataURL"], ["poll=200:PROCESSING*2"], ["poll=500*1"]] as [[String]])
    func `what the export service has counted is stored, and fetching it again changes nothing`(
        answers: [String]
    ) async throws {
        try await setToken()
        let first = try await fetch(answers)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.contains("180 counts of shop: 180 new, 0 changed, 0 known already."), "\(first.output)")
        let second = try await fetch(answers, ["--since", "2d"])
        #expect(second.output.contains("12 counts of shop: 0 new, 0 changed, 12 known already."), "\(second.output)")
        let shown = try await shop.run("metrics", "show", "--app", "shop", "--since", "2d")
        #expect(shown.status == 0 && shown.output.contains("Stored - Device Offline"), "\(shown.output)")
        #expect(shown.output.split(separator: "\n").contains { $0.contains("voip") && $0.hasSuffix(" hidden") })
        let json = try await shop.run("metrics", "show", "--json")
        #expect(json.output.contains(#""status":"Delivered to Device","count":1200,"count_precision":"about""#))
        #expect(json.output.contains(#""count":null,"count_precision":null"#), "\(json.output)")
    }

    @Test(arguments: [
        ("export=401", 78, "does not accept the export token of shop"), ("export=400:Nope", 78, "(400)"),
        ("export=500", 69, "answered 500"), ("poll=404", 78, "does not accept"), ("poll=200:FAILED", 75, "has failed"),
        ("poll=200:EXPIRED", 75, "has expired"), ("poll=200:PROCESSING", 75, "still making"),
        ("download=404", 69, "404"),
    ])
    func `an error of the export service is told, with what to do`(
        answer: String,
        status: Int32,
        words: String
    ) async throws {
        try await setToken()
        let run = try await fetch([answer], ["--wait", "1ms"].filter { _ in answer.hasSuffix("PROCESSING") })
        #expect(run.status == status && run.errors.contains(words), "\(run.status): \(run.errors)")
        #expect(!run.errors.contains(Self.token))
        #expect(try await shop.database.rows(Self.rows) == [])
    }

    @Test func `a hostile service gets no token sent elsewhere, and nothing stored`() async throws {
        try await setToken()
        let elsewhere = try await fetch { _, _ in (200, "", #"{"statusUrl":"https://127.0.0.2:1/status"}"#) }
        #expect(elsewhere.status == 1 && elsewhere.errors.contains("names another server"), "\(elsewhere.errors)")
        let redirected = try await fetch { _, _ in (307, "Location: https://127.0.0.2:1/\r\n", "") }
        #expect(redirected.status == 1 && redirected.errors.contains("redirects"), "\(redirected.errors)")
        let internalFile = try await fetch { target, origin in
            target.hasSuffix("/request")
                ? (200, "", "{\"statusUrl\":\"\(origin)/status\"}")
                : (200, "", #"{"status":"SUCCESS","downloadDetails":{"dataUrl":"http://169.254.169.254/"}}"#)
        }
        #expect(internalFile.status == 1 && internalFile.errors.contains("may be asked"), "\(internalFile.errors)")
        #expect(try await shop.database.rows(Self.rows) == [])
    }

    @Test func `a bad file costs its bad lines only`() async throws {
        try await setToken()
        let day = Self.day
        let run = try await fetch { target, origin in
            switch target {
            case "/status": (200, "", "{\"status\":\"SUCCESS\",\"downloadDetails\":{\"dataURL\":\"\(origin)/file\"}}")
            case "/file":
                (200, "", "Push Type,Status,Date (UTC),Count\nalert,delivered,\(day),x\nalert,delivered,\(day),7\n")
            default: (200, "", "{\"statusUrl\":\"\(origin)/status\"}")
            }
        }
        #expect(run.status == 1 && run.errors.contains("line 2: the count is not a whole number"), "\(run.errors)")
        #expect(try await shop.database.rows(Self.rows) == ["(\(day),alert,delivered,7)"])
        let page = try await fetch { target, origin in
            switch target {
            case "/status": (200, "", "{\"status\":\"SUCCESS\",\"downloadDetails\":{\"dataURL\":\"\(origin)/file\"}}")
            case "/file": (200, "", "<html>Log in</html>")
            default: (200, "", "{\"statusUrl\":\"\(origin)/status\"}")
            }
        }
        #expect(page.status == 78 && page.errors.contains("Push Type, Status, Date (UTC) and Count"), "\(page.errors)")
    }

    @Test func `a service of the public internet has a public address, and speaks https`() async throws {
        try await setToken()
        let refused = try await shop.run("metrics", "fetch", "--service", "https://127.0.0.1:1")
        #expect(refused.status == 69 && refused.errors.contains("private or reserved"), "\(refused.errors)")
        for service in ["http://example.com", "https://user@example.com", "https://example.com/path", "example.com"] {
            #expect(try await shop.run("metrics", "fetch", "--service", service).status == 2, "\(service)")
        }
    }

    @Test func `a file is imported from standard input, and a later one replaces its counts`() async throws {
        func run(_ text: String) async throws -> ProgramRun {
            let file = try shop.folder.write("export.csv", "Push Type,Status,Date (UTC),Count\n" + text)
            return try await ProgramRun.run(
                ["metrics", "import", "--app", "shop", "-"],
                environment: ["DATABASE_URL": shop.database.url],
                input: .file(file)
            )
        }
        let lines = (1...2_500).map { "type\($0),delivered,\(Self.day),5\n" }.joined()
        let first = try await run(lines)
        #expect(first.status == 0 && first.output.contains("2,500 new, 0 changed, 0 known"), "\(first.errors)")
        #expect(try await run(lines).output.contains("0 new, 0 changed, 2,500 known"))
        let changed = try await run("type1,delivered,\(Self.day),6\ntype2,delivered,\(Self.day),-1\n")
        #expect(changed.output.contains("0 new, 2 changed, 0 known"), "\(changed.output)")
        let refused = try await run((1...12).map { _ in "type1,delivered,never,6\n" }.joined())
        #expect(refused.status == 1 && refused.errors.contains("line 2: the date is not a day"), "\(refused.errors)")
        #expect(refused.errors.contains("12 lines were refused; the first 10 are listed."), "\(refused.errors)")
        let unknown = try await shop.run("metrics", "import", "--app", "nope", "/dev/null")
        #expect(unknown.status == 1 && unknown.errors.contains("takes the name of an app"), "\(unknown.errors)")
    }

    @Test func `the end of an export token is reported ahead, and an old one is replaced`() async throws {
        let soon = TimeText.day(WallClock.microseconds + 10 * 86_400_000_000)
        try await setToken(expires: soon)
        let warned = try await shop.run("check")
        #expect(
            warned.status == 0 && warned.output.contains("The export token of shop expires in 9 days."),
            "\(warned.output)"
        )
        try await setToken()
        #expect(try await shop.run("check").output.contains("shop has an export token for Apple's metrics"))
        try await shop.database.run("UPDATE carillon.export_tokens SET not_after = now() - interval '1 day'")
        #expect(try await shop.run("check").output.contains("The export token of shop has expired."))
        #expect(try await shop.run("metrics", "remove-token", "shop").status == 0)
        #expect(try await shop.run("metrics", "remove-token", "shop").status == 1)
        let none = try await shop.run("metrics", "fetch", "--app", "shop")
        #expect(none.status == 78 && none.errors.contains("The app shop has no export token."), "\(none.errors)")
    }

    @Test func `a token that cannot be one is refused before it is stored`() async throws {
        let good = try shop.folder.write("good", Self.token)
        let bad = try shop.folder.write("bad", "two words")
        for (file, day) in [(bad, "2100-01-01"), (good, "2020-01-01"), (good, "soon")] {
            let run = try await shop.run("metrics", "set-token", "shop", "--export-token-file", file, "--expires", day)
            #expect(run.status == 2, "\(file) \(day): \(run.errors)")
        }
        let missing = try await shop.run("metrics", "set-token", "shop", "--expires", "2100-01-01")
        #expect(missing.status == 2 && missing.errors.contains("needs --export-token-file FILE: "), "\(missing.errors)")
        // The app has a certificate, which names no team.
        let words = ["metrics", "set-token", "shop", "--export-token-file", good, "--expires", "2100-01-01"]
        let teamless = try await shop.run(words)
        #expect(teamless.status == 1 && teamless.errors.contains("--team-id"), "\(teamless.errors)")
    }
}
