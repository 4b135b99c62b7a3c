import ApplePushSimulator
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// Text that looks like something else: SQL, a header, a line of a log, a sample of a metric, a terminal's control sequence.
@Suite(.scene) struct TextCases {
    private static let nasty = [
        "'; DROP TABLE carillon.messages; --", "\" OR \"\"=\"", "' OR ''='", "$$; SELECT pg_sleep(9); $$",
        "$1 %s %n {0}",
        "a\\' OR 1=1 --", "E'\\x00'", "),(1,2);--", "{a,b}", "NULL", "null", " ", "line\r\nbreak: 1\n\ttab",
        "\u{1B}[2J\u{1B}]0;gone\u{7}", "\u{7F}\u{80}\u{9B}31m", "\"\u{301}} 1\\\u{301}\r\ncarillon_up 666", "\\", "\"",
        "🔔\u{202E}\u{2066}\u{200D}\u{FEFF}\u{FFFF}\u{2028}", "../../etc/passwd", "<script>alert(1)</script>",
        "%00%0d%0a",
        "\u{1}\u{2}\u{1F}",
    ]
    private static let all = Self.nasty.joined(separator: " ")
    /// All of it as names of the maximal length, behind a word.
    private static let names = Self.nasty.reduce(into: [""]) { names, text in
        if names[names.count - 1].utf8.count + text.utf8.count > 240 { names.append("") }
        names[names.count - 1] += names[names.count - 1].isEmpty ? text : " " + text
    }

    @Test func `P10: text of any kind passes unchanged from a plain INSERT to results and failures`() async throws {
        for (place, text) in (Self.nasty + [String(repeating: "ü'", count: 341)]).enumerated() {
            // One token is sent and one fails, so that both tables get the text.
            let good = Scene.token("cc", place)
            let quoted = OddRow.quoted(text)
            try await scene.client.run(
                """
                INSERT INTO carillon.messages (app_id, tokens, payload, reference)
                SELECT a.id, ARRAY['\(good)', \(quoted)], json_build_object('aps', json_build_object('alert', \(quoted))),
                    \(quoted) FROM carillon.apps a
                """
            )
            let payload = try await scene.client.text(
                "SELECT json_build_object('aps', json_build_object('alert', \(quoted)))"
            )
            scene.ledger.committed([
                Ledger.Message(reference: text, tokens: [good, text], payload: payload, mayRepeat: true)
            ])
        }
        try await scene.fleet.started()
        let audit = try await scene.finish(localReasons: ["MalformedToken"])
        for text in Self.nasty {
            #expect(audit.outcomes.results[text]?.map(\.sent) == [1], "\(text)")
            #expect(audit.outcomes.failures[text]?.map(\.token) == [text], "\(text)")
        }
    }

    @Test func `P10: text of any kind goes through enqueue to the device as it is`() async throws {
        struct Payload: Decodable {
            struct Aps: Decodable {
                let alert: String
                let sound: String
                let category: String
                let thread: String

                private enum CodingKeys: String, CodingKey {
                    case alert, sound, category
                    case thread = "thread-id"
                }
            }
            let aps: Aps
        }
        for (place, text) in Self.nasty.enumerated() {
            let quoted = OddRow.quoted(text)
            let fits =
                !text.contains { $0.isNewline || $0.isWhitespace }
                && text.unicodeScalars.allSatisfy { $0.value >= 32 }
                && !text.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) || $0.value == 0x2028 }
            let id = try await scene.client.number(
                """
                carillon.enqueue('board', '{\(Scene.token("cc", place))}', alert => \(quoted), sound => \(quoted),
                    category => \(quoted), thread_id => \(quoted), extra => jsonb_build_object(\(quoted), \(quoted)),
                    reference => \(quoted), dedupe_key => \(quoted), collapse_id => \(fits ? quoted : "NULL"))
                """
            )
            // The same key again: it was stored unchanged.
            #expect(
                try await scene.client.text(
                    "SELECT carillon.enqueue('board', '{ab}', 'x', dedupe_key => \(quoted))"
                ) == ""
            )
            #expect(
                try await scene.client.text(
                    "SELECT m.payload ->> \(quoted) FROM carillon.messages m WHERE m.id = \(id)"
                )
                    == text
            )
            let payload = try await scene.client.text("SELECT m.payload FROM carillon.messages m WHERE m.id = \(id)")
            scene.ledger.committed([
                Ledger.Message(reference: text, tokens: [Scene.token("cc", place)], payload: payload, mayRepeat: true)
            ])
        }
        try await scene.fleet.started()
        let audit = try await scene.finish()
        for (place, text) in Self.nasty.enumerated() {
            let sent = try #require(audit.sightings[Scene.token("cc", place)]?.first)
            let aps = try JSONDecoder().decode(Payload.self, from: Data(sent.payload)).aps
            for value in [aps.alert, aps.sound, aps.category, aps.thread] {
                #expect(value.unicodeScalars.elementsEqual(text.unicodeScalars), "\(text)")
            }
            if let id = sent.collapseID { #expect(id == text) }
        }
    }

    @Test func `P10: the program accepts any text, and escapes it for terminals and scrapers`() async throws {
        let environment = ["DATABASE_URL": scene.client.url]
        let issued = try scene.simulator.issueCertificate(topics: [Scene.topic])
        let pem = try scene.folder.write("any.pem", issued.certificate + issued.privateKey)
        let root = try scene.folder.write("root.pem", scene.simulator.rootPEM)
        for name in Self.names {
            let commands = [
                ["credential", "import", name, "--file", pem],
                [
                    "app", "add", name, "--topic", Scene.topic, "--credential", name, "--gateway",
                    "localhost:\(scene.simulator.port)", "--gateway-ca", root,
                ],
            ]
            for words in commands {
                let run = try await ProgramRun.run(words, environment: environment)
                #expect(run.status == 0, "\(run.errors)")
            }
            // An app that the worker logs.
            let silent = "'silent ' || \(OddRow.quoted(name))"
            try await scene.client.run(
                """
                INSERT INTO carillon.apps (name, topic) VALUES (\(silent), 'a.b');
                SELECT carillon.enqueue(\(silent), '{aa}', 'x')
                """
            )
        }
        let worker = try await scene.fleet.started()
        for (place, name) in Self.names.enumerated() {
            let sent = try await ProgramRun.run(
                ["send", "--app", name, "--token", Scene.token("cc", place), "--alert", Self.all],
                environment: environment
            )
            #expect(sent.status == 0, "\(sent.errors)")
        }
        try await worker.says("has no credential", times: Self.names.count)
        let metrics = try await worker.ask("/metrics").body
        for line in metrics.split(separator: "\n", omittingEmptySubsequences: false) {
            #expect(line.isEmpty || line.hasPrefix("# ") || Self.isSample(line), "\(line)")
            #expect(!line.hasPrefix("carillon_up "))
        }
        for line in worker.said.utf8.split(separator: UInt8(ascii: "\n")) {
            #expect(throws: Never.self) { try JSONDecoder().decode([String: Word].self, from: Data(line)) }
        }
        for words in [["app", "list"], ["status"], ["credential", "list"]] {
            let run = try await ProgramRun.run(words, environment: environment)
            let obeyed = run.output.unicodeScalars.filter { $0 != "\n" && Self.steers($0) }
            #expect(run.status == 0 && obeyed.isEmpty, "\(words): \(Array(obeyed))")
            let json = try await ProgramRun.run(words + ["--json"], environment: environment)
            #expect(json.status == 0)
            #expect(json.output.utf8.count { $0 == UInt8(ascii: "\n") } <= 1 || words == ["status"])
        }
        for name in Self.names {
            #expect(
                try await scene.client.number(
                    """
                    SELECT sum(r.sent) FROM carillon.results r JOIN carillon.apps a ON a.id = r.app_id
                    WHERE a.name = \(OddRow.quoted(name))
                    """
                ) == 1
            )
        }
        #expect(try await scene.fleet.stop() == [])
    }

    /// Any value of a line of the log.
    private struct Word: Decodable { init(from decoder: any Decoder) {} }

    /// name{label="value",…} number: quotes, backslashes and line breaks in a value are escaped.
    private static func isSample(_ line: Substring) -> Bool {
        var rest = line.unicodeScalars[...]
        rest = rest.drop { $0 == "_" || $0.properties.isAlphabetic || ("0"..."9").contains($0) }
        if rest.first == "{" {
            var isQuoted = false
            var isEscaped = false
            var end: Substring.UnicodeScalarView.Index?
            for index in rest.indices {
                if isEscaped {
                    guard "nN\\\"".unicodeScalars.contains(rest[index]) else { return false }
                    isEscaped = false
                } else if rest[index] == "\\" {
                    isEscaped = true
                } else if rest[index] == "\"" {
                    isQuoted.toggle()
                } else if rest[index] == "}", !isQuoted {
                    end = index
                    break
                }
            }
            guard let end else { return false }
            rest = rest[rest.index(after: end)...]
        }
        guard rest.first == " " else { return false }
        return Double(String(rest.dropFirst())) != nil || rest.elementsEqual(" +Inf".unicodeScalars)
    }

    /// Control characters, and those that change the direction of text.
    private static func steers(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
