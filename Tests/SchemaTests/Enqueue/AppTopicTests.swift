import CarillonPostgres
import CarillonPushRules
import TestSupport
import Testing

/// Which topics the messages of an app may name: a signing key sends to all topics of its team.
@Suite(.demo) struct AppTopicTests {
    private static func allows(_ topic: String, _ database: TestDatabase) async throws -> Bool {
        try await database.value("'\(topic)' = ANY (carillon.topics_of(1))") == "true"
    }

    @Test func `a message names the app's own topic, a further one of the app, or what Apple derives from these`()
        async throws
    {
        try await database.useSigningKey()
        func enqueue(_ topic: String, _ rules: PushTypeRules) async throws {
            let content = rules.isSilent ? "content_available => true" : "alert => 'x'"
            try await database.run(
                "SELECT carillon.enqueue('demo', '{ab}', \(content), push_type => '\(rules.name)', topic => '\(topic)')"
            )
        }
        let foreign = [
            "com.example.bank", "com.example", "com.example.demo.two", "com.example.dem", "Com.example.demo",
        ]
        for rules in PushTypeRules.all {
            let ending = rules.topicSuffix.description
            try await enqueue("com.example.demo\(ending)", rules)
            for topic in foreign {
                let error = await #expect(throws: PostgresError.self, "\(rules.name): \(topic)") {
                    try await enqueue(topic + ending, rules)
                }
                #expect(error?.message == "argument \"topic\" takes a topic of the app 'demo', got '\(topic)\(ending)'")
                #expect(error?.sqlState == "22023")
                #expect(error?.hint?.contains("'carillon app set NAME --topics TOPIC,TOPIC'") == true)
            }
        }
        try await database.run("UPDATE carillon.apps SET topics = '{com.example.bank,org.example.tv.voip}'")
        for rules in PushTypeRules.all { try await enqueue("com.example.bank\(rules.topicSuffix)", rules) }
        // The bundle ID of an app may end like that.
        try await database.run("SELECT carillon.enqueue('demo', '{ab}', 'x', topic => 'org.example.tv.voip')")
        let refused = await database.refusal(
            of: "SELECT carillon.enqueue('demo', '{ab}', 'x', topic => 'org.example.tv')"
        )
        #expect(refused?.sqlState == "22023", "\(refused?.message ?? "")")
    }

    @Test(arguments: [
        "enqueue('demo', '{ab}', 'x', topic => 'com.bank')", "broadcast('demo', 'x', topic => 'com.bank')",
        "enqueue('demo', '{ab}', payloads => ARRAY['{}'::json], topic => 'com.bank')",
        "start_activity('demo', '{ab}', 'T', '{}', '{}', title => 'x', topic => 'com.bank.push-type.liveactivity')",
        "update_activity('demo', '{ab}', '{}', topic => 'com.bank.push-type.liveactivity')",
        "end_activity('demo', '{ab}', topic => 'com.bank.push-type.liveactivity')",
        #"update_media('demo', '{ab}', '{"id": 1}', topic => 'com.bank.push-type.nowplaying')"#,
        #"send_test('demo', '{"tokens": ["ab"], "alert": "x", "topic": "com.bank"}')"#,
        #"preview_message('demo', '{"tokens": ["ab"], "alert": "x", "topic": "com.bank"}')"#,
        """
        call_with_token(sha256('t'), 'send', 'enqueue', '{tokens,alert,topic}',
            body => '{"tokens": ["ab"], "alert": "x", "topic": "com.bank"}')
        """,
    ])
    func `each way to enqueue refuses the topic of another app, until it is listed`(call: String) async throws {
        try await database.useSigningKey()
        try await database.run(
            """
            INSERT INTO carillon.apps (name, topic, certificate_id) VALUES ('bank', 'com.bank', 1);
            INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'cd');
            INSERT INTO carillon.api_tokens (app_id, name, digest) VALUES (1, 'shop', sha256('t'))
            """
        )
        let error = await database.refusal(of: "SELECT carillon.\(call)")
        #expect(error?.message.contains("takes a topic of the app 'demo'") == true, "\(error?.message ?? "")")
        #expect(error?.hint?.contains("--topics") == true)
        try await database.run("UPDATE carillon.apps SET topics = '{com.bank}' WHERE name = 'demo'")
        try await database.run("SELECT carillon.\(call)")
    }

    @Test func `an app without a topic has those of its certificate, and with a signing key only those it lists`()
        async throws
    {
        try await database.run("UPDATE carillon.apps SET topic = NULL")
        // The certificate was not read yet: APNs decides.
        #expect(try await database.value("carillon.topics_of(1)") == nil)
        try await database.run("SELECT carillon.enqueue('demo', '{ab}', 'x', topic => 'com.other')")
        try await database.run("UPDATE carillon.certificates SET topics = '{com.one,com.one.voip}'")
        for (topic, isAllowed) in [
            ("com.one", true), ("com.one.voip", true), ("com.one.location-query", true), ("com.other", false),
        ] { #expect(try await Self.allows(topic, database) == isAllowed, "\(topic)") }
        try await database.run("UPDATE carillon.apps SET topics = '{com.other}'")
        #expect(try await Self.allows("com.other.voip", database))
        try await database.useSigningKey()
        #expect(try await Self.allows("com.other.voip", database))
        #expect(try await !Self.allows("com.one", database))
        try await database.run("UPDATE carillon.apps SET topics = NULL")
        #expect(try await database.value("carillon.topics_of(1)") == "{}")
        let refused = await database.refusal(of: "SELECT carillon.enqueue('demo', '{ab}', 'x', topic => 'com.other')")
        #expect(refused?.sqlState == "22023", "\(refused?.message ?? "")")
    }

    @Test(arguments: [
        ("'{}'", "apps_topics_are_visible_ascii"), ("'{a,\"\"}'", "apps_topics_are_visible_ascii"),
        ("'{a,NULL}'", "apps_topics_are_visible_ascii"), ("'{NULL}'", "apps_topics_are_visible_ascii"),
        ("'{a b}'", "apps_topics_are_visible_ascii"), ("'{\" a\"}'", "apps_topics_are_visible_ascii"),
        ("'{{a,b}}'", "apps_topics_are_visible_ascii"), ("'[2:3]={a,b}'", "apps_topics_are_visible_ascii"),
        ("'{tüpic}'", "apps_topics_are_visible_ascii"), ("ARRAY[E'a\\nb']", "apps_topics_are_visible_ascii"),
        ("ARRAY[repeat('x', 256)]", "apps_topics_are_visible_ascii"),
        ("ARRAY(SELECT 't' || n FROM generate_series(1, 101) n)", "apps_topics_are_100_at_most"),
    ])
    func `an app lists up to 100 topics, each one that Apple may have`(topics: String, constraint: String) async throws
    {
        let error = await database.refusal(of: "UPDATE carillon.apps SET topics = \(topics)")
        #expect(error?.constraint == constraint)
        try await database.run(
            "UPDATE carillon.apps SET topics = ARRAY(SELECT repeat('x', 255) FROM generate_series(1, 100))"
        )
    }

    @Test(arguments: ["carillon_app", "carillon_operator", "carillon_reader", "carillon_tenant", "carillon_worker"])
    func `only the owner of the schema lists topics`(role: String) async throws {
        try await database.run("SET ROLE \(role)")
        let error = await database.refusal(of: "UPDATE carillon.apps SET topics = '{com.bank}'")
        #expect(error?.sqlState == "42501")
        try await database.run("RESET ROLE")
    }

    @Test func `a worker claims a message that names a topic with the rights of its role alone`() async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            SELECT carillon.enqueue('demo', '{ab}', 'x', topic => 'com.example.demo');
            SET ROLE carillon_worker
            """
        )
        #expect(try await database.claim(by: worker).map(\.tokens) == [["ab"]])
        try await database.run("RESET ROLE")
    }

    @Test func `audit records which topics an app lists`() async throws {
        try await database.run("UPDATE carillon.apps SET topics = '{com.bank}'")
        #expect(
            try await database.rows(
                "SELECT details -> 'topics', details -> 'topics_before' FROM carillon.audit WHERE action = 'set app'"
            ) == [#"("[""com.bank""]",null)"#]
        )
    }
}
