import ApplePushSimulator
import CarillonIO
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// A dashboard, and metrics, that are attacked while workers send.
@Suite struct WebCases {
    @Test(.scene)
    func `S6: a dashboard under attack lets nobody in, shows text as text, and slows nobody down`() async throws {
        try await scene.fleet.started(lease: Fleet.calm)
        let texts = HostileText.all.filter { !$0.contains("\0") && $0.utf8.count <= 255 }
        for text in texts {
            try await scene.client.run(
                """
                INSERT INTO carillon.apps (name, topic, paused, paused_reason)
                VALUES (\(OddRow.quoted(text)), 'com.example.hostile', true, \(OddRow.quoted(text)))
                """
            )
        }
        let words = [
            "--password-file", try scene.folder.write("readers", "correct horse"), "--operator-password-file",
            try scene.folder.write("operators", "battery staple"),
        ]
        try await scene.underLoad {
            try await DashboardClient.with(scene.client.url, in: scene.folder, words) { client, _ in
                try await attack(client)
            }
            try await scene.goesOn()
        }
        #expect(
            try await scene.client.text("SELECT a.paused FROM carillon.apps a WHERE a.name = '\(Scene.app)'")
                == "false"
        )
        try await scene.finish()
    }

    private func attack(_ client: DashboardClient) async throws {
        // Without a password, or with a wrong one.
        for path in DashboardClient.pages + ["/apps/\(Scene.app)"] {
            #expect(await client.get(path).status == "303", "\(path)")
            #expect(await client.get(path, json: true).status == "401", "\(path)")
        }
        #expect(await client.post("/login", "password=wrong").status == "403")
        let pause = "/apps/\(Scene.app)/pause"
        #expect(await client.post(pause, "").status != "200")

        // With the operators' password, from a page of another site.
        let entered = await client.post("/login", "password=battery+staple")
        let session = "Cookie: \(try #require(entered.header("Set-Cookie")).prefix { $0 != ";" })\r\n"
        let page = try DashboardClient.read(await client.get("/apps/\(Scene.app)", headers: session), "the app")
        let form = page.elements.first { $0.name == "input" && $0.attributes["name"] == "form_token" }
        let token = try #require(form?.attributes["value"])
        let foreign = session + "Origin: http://evil.example\r\n"
        #expect(await client.post(pause, "form_token=\(token)", headers: foreign).status == "403")
        #expect(await client.post(pause, "form_token=", headers: session).status == "403")

        // Texts that would be scripts.
        for path in DashboardClient.pages {
            _ = try DashboardClient.read(await client.get(path, headers: session), path)
        }

        // Bodies without end.
        let post = "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        let announced = await RawHTTP.exchange(client.port, post + "Content-Length: 1073741824\r\n\r\n")
        #expect(announced.hasPrefix("HTTP/1.1 413 "), "\(announced.prefix(200))")
        let piece = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
        let pieces = String(repeating: piece, count: Board.sized(500, full: 16_384))
        _ = await RawHTTP.exchange(client.port, post + "Transfer-Encoding: chunked\r\n\r\n" + pieces)

        // Requests that never end, from many addresses.
        let before = try #require(Usage(of: client.program.processID))
        var slow: [CInt] = []
        defer { for descriptor in slow { close(descriptor) } }
        for number in 0..<1000 {
            let descriptor = RawHTTP.connected(client.port, from: UInt8(2 + number / 50))
            slow.append(descriptor)
            _ = Array("GET / HTTP/1.1\r\nHost: loc".utf8).withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
        }
        for _ in 1...5 { #expect(await client.get("/apps", headers: session).status == "200") }
        let during = try #require(Usage(of: client.program.processID))
        #expect(during.descriptors - before.descriptors <= 256)
        #expect(during.memory < 400 << 20)
    }

    @Test func `S12: an attack on the dashboard of a worker delays no push, and fills no memory`() async throws {
        try await Scene.with({ $0.delay = .seconds(2) }) { scene in
            let words = [
                "--web", "--web-http", "127.0.0.1:0", "--password-file",
                try scene.folder.write("readers", "correct horse"),
                "--operator-password-file", try scene.folder.write("operators", "battery staple"),
            ]
            try await scene.addApp("probe", topic: Scene.topic, to: scene.simulator)
            try await scene.client.run(
                "INSERT INTO carillon.apps (name, topic) SELECT 'app' || n, 'com.example.idle' FROM generate_series(1, 500) n"
            )
            let worker = try await scene.fleet.started(words, lease: Fleet.calm)
            let line = try #require(worker.lines(containing: "The dashboard is served").first)
            let port = try #require(line.firstMatch(of: /"port":(\d+)/).flatMap { UInt16($0.output.1) })
            let entered = await RawHTTP.ask(
                port,
                "POST /login",
                headers: "Content-Length: 22\r\n",
                body: "password=correct+horse"
            )
            let cookie = try #require(entered.firstMatch(of: /Set-Cookie: (carillon_session=[0-9a-f]+)/)).output.1
            // As many and as large as a worker may have in flight.
            try await scene.underLoad(depth: 8000, padding: 4000) {
                let before = try await waits(scene)
                let attack = WebAttack(port: port)
                var during: [Duration] = []
                try await attack.go(session: "Cookie: \(cookie)\r\n", password: "battery+staple") {
                    try await scene.eventually("guesses were refused") { attack.statuses["429"] != nil }
                    // Both go on for as long as the attack does.
                    try await scene.eventually("passwords were checked") { attack.statuses["303"] != nil }
                    try await scene.eventually("whole bodies were read") { attack.statuses["401"] != nil }
                    during = try await waits(scene)
                }
                let memory = try #require(worker.mostMemory) >> 20
                print("fault board: S12: \(memory) MB at most, \(before) and \(during), answers \(attack.statuses)")
                #expect(memory < 128 || Sanitizer.isLoaded)
                // Half of the probes: some wait for a processor, as the attackers take it too.
                #expect(during[5] < before[5] * 3 + .milliseconds(500))
            }
            try await scene.client.run("DELETE FROM carillon.apps WHERE topic = 'com.example.idle'")
            try await scene.finish()
        }
    }

    /// How long pushes of an app that sends nothing else take to the gateway, in order.
    private func waits(_ scene: Scene) async throws -> [Duration] {
        var waits: [Duration] = []
        for _ in 0..<11 {
            let (start, count) = (MonotonicInstant.now, scene.record.requests(to: "beef"))
            try await scene.enqueue(1, prefix: "beef", app: "probe")
            try await scene.eventually("the probe came") { scene.record.requests(to: "beef") > count }
            waits.append(.now - start)
        }
        return waits.sorted()
    }

    @Test func `S7: no text of an app or a gateway becomes a sample, a label or a line of the metrics`() async throws {
        let reason = #"x\"} 1\ninjected_total{a=\"b"#
        let hostile = [
            "x\"} 1\ninjected_total 5\n#", "back\\slash\\", "{a=\"b\"}", "\r\n", "app=\"x\",status=\"200\"",
            "\u{2028}ü",
        ]
        try await Scene.send(200, duplicates: 1) { frame in
            guard frame.isAnswer, frame.answers == 21, frame.connection == 1 else { return [.pass] }
            let body = Array(#"{"reason":"\#(reason)"}"#.utf8)
            let stream = frame.frame.stream
            return [.say(FrameBytes.headers(stream, [(":status", "500")]) + FrameBytes.data(stream, body, end: true))]
        } then: { scene, worker, _ in
            for name in hostile {
                // The app is held, and a job of it waits.
                try await scene.client.run(
                    """
                    INSERT INTO carillon.apps (name, topic) VALUES (\(OddRow.quoted(name)), 'com.example.hostile');
                    SELECT carillon.enqueue(\(OddRow.quoted(name)), ARRAY[repeat('ab', 32)], 'x')
                    """
                )
            }
            try await scene.eventually("all of them are in the metrics") {
                try await worker.metric("carillon_app_held") >= Double(hostile.count)
            }
            let text = try await worker.ask("/metrics").body
            let sample = /[a-z_]+(\{([a-z_]+="([^"\\\n]|\\[\\n"])*",?)+\})? [0-9.e+-]+/
            for line in text.split(separator: "\n") {
                let isGood =
                    line.hasPrefix("# HELP carillon_") || line.hasPrefix("# TYPE carillon_")
                    || (line.hasPrefix("carillon_") && line.wholeMatch(of: sample) != nil)
                #expect(isGood, "\(line)")
            }
            #expect(text.contains("injected_total"), "it is there, as a part of a text")
            try await scene.client.run(
                "DELETE FROM carillon.messages; DELETE FROM carillon.apps WHERE topic = 'com.example.hostile'"
            )
        }
    }
}
