import CarillonIO
import CarillonPostgres
import CarillonTLS
import TestSupport
import Testing

/// What Apple would refuse, and what devices would ignore, is said when it is enqueued.
@Suite(.demo) struct EarlyRefusalTests {
    private static let certificate = """
        UPDATE carillon.certificates SET topics = '{com.example.demo,com.example.demo.voip}';
        UPDATE carillon.apps SET topic = 'com.example.demo', topics = '{com.other}'
        """

    @Test func `a certificate sends to its own topics only`() async throws {
        try await database.run(Self.certificate)
        for call in ["'x'", "'x', push_type => 'voip'", "'x', topic => 'com.example.demo'"] {
            #expect(try await database.value("carillon.enqueue('demo', '{ab}', \(call))") != nil)
        }
        try await database.run(
            "INSERT INTO carillon.tokens (app_id, token, kind) VALUES (1, 'cd', 'device'), (1, 'ce', 'widget')"
        )
        let token = try #require(try await database.value("carillon.create_api_token('demo', 'test')"))
        let digest = "sha256('\(token)')"
        let (type, topic) = (#""push_type": "widgets""#, #""topic": "com.other""#)
        func message(_ member: String) -> String { #"'{"tokens": ["ab"], "alert": "x", \#(member)}'"# }
        let enqueue = "'send', 'enqueue', '{tokens,alert,push_type,topic}'"
        // No argument of push and push_each decides the topic, and publish sends to a channel.
        let refused = [
            ("broadcast('demo', 'x', push_type => 'widgets')", "app"),
            ("broadcast('demo', 'x', topic => 'com.other')", "topic"),
            ("send_test('demo', \(message(type)))", "app"), ("send_test('demo', \(message(topic)))", "topic"),
            ("call_with_token(\(digest), \(enqueue), body => \(message(type)))", "app"),
            ("call_with_token(\(digest), \(enqueue), body => \(message(topic)))", "topic"),
            ("enqueue('demo', '{ab}', 'x', push_type => 'widgets')", "app"),
            ("enqueue('demo', '{ab}', 'x', push_type => 'location')", "app"),
            ("enqueue('demo', '{ab}', 'x', topic => 'com.other')", "topic"),
            ("update_activity('demo', '{ab}', '{\"score\": 1}'::jsonb)", "app"),
            ("end_activity('demo', '{ab}')", "app"), ("end_media('demo', '{ab}', '{\"id\": 1}')", "app"),
            ("start_activity('demo', '{ab}', 'T', '{}'::jsonb, '{}'::jsonb, title => 'x')", "app"),
        ]
        for (call, argument) in refused {
            let error = await database.refusal(ofValue: "carillon.\(call)")
            #expect(
                error?.message.hasPrefix("argument \"\(argument)\" takes ") == true,
                "\(call): \(error?.message ?? "")"
            )
            #expect(error?.hint?.contains("carillon credential import") == true)
        }
        // A signing key sends to all topics of its team.
        try await database.useSigningKey()
        for (call, _) in refused { #expect(try await database.value("carillon.\(call)") != nil, "\(call)") }
    }

    @Test func `a certificate that no program has read yet sends to its own topics only`() async throws {
        func enqueue(_ type: String, as text: String, topic: String? = nil) async throws -> String? {
            try await database.run("UPDATE carillon.certificates SET certificate = '\(text)'")
            #expect(try await database.value("(SELECT c.topics FROM carillon.certificates c)") == nil)
            let topic = topic.map { ", topic => '\($0)'" } ?? ""
            do {
                _ = try await database.value("carillon.enqueue('demo', '{ab}', 'x', push_type => '\(type)'\(topic))")
                return nil
            } catch let error as PostgresError {
                return error.message
            }
        }
        let authority = try CertificateAuthority(name: "Test")
        let own = try authority.issue(commonName: "Test", topics: ["com.example.demo", "com.example.demo.voip"])
        let all = own.certificatePEM + own.privateKeyPEM
        for text in [own.certificatePEM, own.privateKeyPEM + all, all.replacing("\n", with: "\r\n")] {
            for type in ["alert", "voip"] { #expect(try await enqueue(type, as: text) == nil) }
            for type in ["liveactivity", "widgets"] {
                let refusal = try await enqueue(type, as: text)
                #expect(
                    refusal?.hasPrefix("argument \"app\" takes an app that may send to the topic") == true,
                    "\(type)"
                )
                #expect(refusal?.hasSuffix("the certificate main is for other topics") == true, "\(refusal ?? "")")
            }
            try await database.run("UPDATE carillon.apps SET topics = '{com.other}'")
            #expect(
                try await enqueue("alert", as: text, topic: "com.other")?.hasPrefix("argument \"topic\" takes")
                    == true
            )
        }
        // Of these nothing is known.
        let any = try authority.issue(commonName: "Test", topics: [])
        let cut = own.certificatePEM.replacing(own.certificatePEM.split(separator: "\n")[3].dropFirst(9), with: "")
        for text in [
            "", any.certificatePEM, cut, cut.replacing("MII", with: "=!-"), "-----BEGIN CERTIFICATE-----",
            all + all,
        ] {
            let refusal = try await enqueue("liveactivity", as: text)
            #expect((refusal == nil) == (text != all + all), "\(text): \(refusal ?? "")")
        }
    }

    @Test func `a payload with which a device does nothing is noticed`() async throws {
        try await database.run("UPDATE carillon.apps SET topics = '{pass.com.example.boarding}'")
        let ignored = [
            "payload => '{}'", "payload => '{\"aps\":{}}'::jsonb",
            "payload => '{\"aps\":{\"category\":\"alert\"}}'",
            "payload => '{\"aps\":{\"alert\" : null}}'", "payload => '{\"aps\":{\"alert\":null}}'",
            "payloads => ARRAY['{\"aps\":{}}']::json[]",
            "category => 'x'", "mutable_content => true", "thread_id => 't', push_type => 'alert'",
        ]
        let shown = [
            "alert => 'x'", "badge => 0", "sound => 's'", "content_available => true", "extra => '{\"a\": 1}'",
            "payload => '{\"a\":1}'", "payload => '{\"aps\":{\"alert\" : \"x\"}}'", "badge_add => 1",
            "title => 'x'", "payloads => ARRAY['{\"aps\":{\"alert\":\"x\"}}']::json[]",
            "payload => '{}', topic => 'pass.com.example.boarding'",
            "payload => '{\"aps\":{}}', push_type => 'widgets'", "aps => '{\"content-available\": 1}'",
        ]
        for (calls, isNoticed) in [(ignored, true), (shown, false)] {
            for call in calls {
                let notice = try await notice(of: "SELECT carillon.enqueue('demo', '{ab}', \(call))", database)
                #expect(notice.contains("a device does nothing with this push") == isNoticed, "\(call): \(notice)")
            }
        }
    }

    @Test(arguments: [
        "push('demo', '{ab}', PAYLOAD)", "push('demo', '{ab,cd}', PAYLOAD)", "push('demo', '{ab}', PAYLOAD::jsonb)",
        "push_each('demo', '{ab}', ARRAY[PAYLOAD])", "push_each('demo', '{ab}', ARRAY[PAYLOAD]::jsonb[])",
        #"push_each('demo', '{ab,cd}', ARRAY['{"aps":{"alert":"y"}}', PAYLOAD])"#,
        "broadcast('demo', payload => PAYLOAD)", "broadcast('demo', payload => PAYLOAD::jsonb)",
    ])
    func `each other way to enqueue notices a payload with which a device does nothing, too`(call: String) async throws
    {
        try await database.run("INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ab')")
        for (payload, isNoticed) in [(#"{"aps":{}}"#, true), (#"{"aps":{"alert":"x"}}"#, false)] {
            let statement = "SELECT carillon." + call.replacing("PAYLOAD", with: "'\(payload)'")
            let notice = try await notice(of: statement, database)
            #expect(notice.contains("a device does nothing with this push") == isNoticed, "\(statement): \(notice)")
        }
    }

    /// The notices that psql prints.
    private func notice(of statement: String, _ database: TestDatabase) async throws -> String {
        try await TemporaryFolder.with { folder in
            var command = ChildProcess.Command("psql", ["-X", "-v", "ON_ERROR_STOP=1", "-c", statement, database.url])
            command.output = .file(folder.file("said"))
            command.error = .file(folder.file("said"))
            let child = try ChildProcess(command)
            let exit = try await TestLoop.with { loop in try await child.wait(on: loop, until: .now + .seconds(180)) }
            let said = try folder.read("said")
            #expect(exit == .status(0), "\(said)")
            return said
        }
    }
}
