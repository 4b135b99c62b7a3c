import CarillonPostgres
import CarillonPushRules
import TestSupport
import Testing

/// What Apple has added since this version: it is enqueued, and the caller is told that it was not checked.
@Suite(.demo) struct UnknownValueTests {
    private static let topic = "com.example.demo.push-type.spatial"

    /// The notices of a call, each with its SQLSTATE.
    private func notices(of call: String) async throws -> [String] {
        try await database.connection.query("SELECT carillon.\(call)", Parameters()) { rows in
            rows.notices.map { "\($0.sqlState): \($0.sentence)" }
        }
    }

    private func error(of call: String) async throws -> PostgresError? {
        await database.refusal(of: "SELECT carillon.\(call)", "\(call)")
    }

    @Test func `a push type that is not known is enqueued with its topic, and a notice says that nothing was checked`()
        async throws
    {
        try await database.useSigningKey()
        let call = "enqueue('demo', '{ab}', 'x', push_type => 'spatial', topic => '\(Self.topic)', priority => 1)"
        let notices = try await notices(of: call)
        #expect(notices.count == 1)
        #expect(
            notices.first?.hasPrefix(
                "01UNK: Argument \"push_type\" is 'spatial', which this version of Carillon does not know: nothing about it was checked."
            ) == true,
            "\(notices)"
        )
        #expect(
            try await database.rows("SELECT push_type, topic, priority, payload FROM carillon.messages")
                == [#"(spatial,\#(Self.topic),1,"{""aps"":{""alert"":""x""}}")"#]
        )
        let known = "enqueue('demo', '{ab}', 'x', push_type => 'voip', topic => 'com.example.demo.voip')"
        #expect(try await self.notices(of: known) == [])
    }

    @Test func `without a topic, or with a name that no type can have, it is refused`() async throws {
        try await database.useSigningKey()
        let longest = String(repeating: "s", count: 64)
        for (type, topic) in [
            ("spatial", nil), ("", Self.topic), ("Spatial", Self.topic), ("spa tial", Self.topic),
            ("spatial_2", Self.topic), ("spätial", Self.topic), ("spatial\r\nx: y", Self.topic),
            ("\(longest)s", Self.topic), ("channel", Self.topic),
        ] as [(String, String?)] {
            let topic = topic.map { "'\($0)'" } ?? "NULL"
            let error = try await error(
                of: "enqueue('demo', '{ab}', 'x', push_type => '\(type)', topic => \(topic))"
            )
            #expect(error?.message.hasPrefix("argument \"push_type\" takes one of alert, ") == true, "\(type)")
            let hint = type == "channel" ? "carillon.publish" : "pass its topic too"
            #expect(error?.hint?.contains(hint) == true, "\(error?.hint ?? "")")
        }
        let topic = "com.example.demo.push-type.\(longest)"
        try await database.run(
            "SELECT carillon.enqueue('demo', '{ab}', 'x', push_type => '\(longest)', topic => '\(topic)')"
        )
    }

    @Test
    func `its topic belongs to the app: it is derived like those of Apple's newer types, or listed`() async throws {
        try await database.useSigningKey()
        func call(_ topic: String) -> String {
            "enqueue('demo', '{ab}', 'x', push_type => 'spatial', topic => '\(topic)')"
        }
        for topic in [
            "com.bank", "com.bank.push-type.spatial", "com.example.demo.spatial", "com.example.demo.push-type.voip",
            "com.example.demo.push-type.spatial.x", "com.example.push-type.spatial",
        ] {
            let error = try await error(of: call(topic))
            #expect(error?.message == "argument \"topic\" takes a topic of the app 'demo', got '\(topic)'")
            #expect(error?.hint?.contains(".push-type.spatial, or list it with 'carillon app set NAME") == true)
        }
        try await database.run("UPDATE carillon.apps SET topics = '{com.example.demo.spatial}'")
        for topic in ["com.example.demo", Self.topic, "com.example.demo.spatial"] {
            try await database.run("SELECT carillon.\(call(topic))")
        }
        // A known type has the topics of its rules only.
        let known = try await error(
            of: "enqueue('demo', '{ab}', 'x', push_type => 'alert', topic => 'com.example.demo.push-type.alert')"
        )
        #expect(known?.message.hasPrefix("argument \"topic\" takes a topic of the app") == true)
    }

    @Test func `its payload may have what a claim keeps, and its priority is one of Apple's`() async throws {
        try await database.useSigningKey()
        #expect(
            try await database.number("(carillon.rules_of('spatial')).payload_limit")
                == database.number("carillon.max_payload_bytes()")
        )
        for (size, isTooLarge) in [(8_192, false), (8_193, true)] {
            let payload = "('{\"a\":\"' || repeat('x', \(size - 8)) || '\"}')::json"
            let call =
                "enqueue('demo', '{ab}', payload => \(payload), push_type => 'spatial', topic => '\(Self.topic)')"
            if isTooLarge {
                #expect(try await error(of: call)?.sqlState == "54000")
            } else {
                try await database.run("SELECT carillon.\(call)")
            }
        }
        let priority = try await error(
            of: "enqueue('demo', '{ab}', 'x', push_type => 'spatial', topic => '\(Self.topic)', priority => 7)"
        )
        #expect(priority?.message == "argument \"priority\" takes 10, 5 or 1, got 7")
    }

    @Test func `a broadcast of such a type reaches the tokens whose kind has its name, or is given`() async throws {
        try await database.useSigningKey()
        for (token, kind) in [("aa", "spatial"), ("bb", "device"), ("cc", "spatial_room")] {
            _ = try await notices(of: "register_token('demo', '\(token)', kind => '\(kind)')")
        }
        let type = "push_type => 'spatial', topic => '\(Self.topic)'"
        #expect(try await notices(of: "broadcast('demo', 'x', \(type))").count == 1)
        #expect(try await notices(of: "broadcast('demo', 'x', \(type), kind => 'spatial_room')").count == 2)
        #expect(try await database.rows("SELECT tokens FROM carillon.messages ORDER BY id") == ["({aa})", "({cc})"])
        // Nothing is known of its tokens, so enqueue takes any.
        #expect(try await notices(of: "enqueue('demo', '{bb}', 'x', \(type))").count == 1)
    }

    @Test func `a kind of tokens that is not known is registered with a notice`() async throws {
        let notices = try await notices(of: "register_token('demo', 'aa', kind => 'spatial')")
        #expect(notices.count == 1 && notices.first?.contains("\"kind\" is 'spatial'") == true, "\(notices)")
        #expect(try await database.rows("SELECT token, kind FROM carillon.tokens") == ["(aa,spatial)"])
        #expect(try await database.rows("SELECT kind, tokens FROM carillon.token_counts()") == ["(spatial,1)"])
        #expect(try await self.notices(of: "register_token('demo', 'aa')") == [])
        for kind in TokenKind.names {
            #expect(try await self.notices(of: "register_token('demo', 'aa', kind => '\(kind)')") == [], "\(kind)")
        }
    }

    @Test func `an interruption level that is not known is sent with a notice`() async throws {
        let notices = try await notices(of: "enqueue('demo', '{ab}', 'x', interruption_level => 'loud')")
        #expect(notices.count == 1 && notices.first?.contains("\"interruption_level\" is 'loud'") == true, "\(notices)")
        #expect(
            try await database.value("SELECT payload FROM carillon.messages")
                == #"{"aps":{"alert":"x","interruption-level":"loud"}}"#
        )
        for level in ["passive", "active", "time-sensitive", "critical"] {
            let call = "enqueue('demo', '{ab}', 'x', interruption_level => '\(level)')"
            #expect(try await self.notices(of: call) == [], "\(level)")
        }
    }

    @Test func `an event that is not known is published with a notice, and ordered like an update`() async throws {
        _ = try await database.value("carillon.record_channel('demo', 'QUJD', 0, 'r')")
        let notices = try await notices(of: "publish('demo', 'r', '{\"a\": 1}', event => 'pause')")
        #expect(notices.count == 1 && notices.first?.contains("\"event\" is 'pause'") == true, "\(notices)")
        #expect(
            try await database.rows(
                """
                SELECT payload -> 'aps' ->> 'event', u.is_end FROM carillon.messages m
                JOIN carillon.updates u ON u.message_id = m.id
                """
            ) == ["(pause,f)"]
        )
        #expect(try await self.notices(of: "publish('demo', 'r', event => 'end')") == [])
        for event in ["start", "Pause", "pause\",\"x\":\""] {
            let error = try await error(of: "publish('demo', 'r', '{}', event => '\(event)')")
            #expect(error?.message.hasPrefix("argument \"event\" takes 'update' or 'end'") == true, "\(event)")
        }
    }

    @Test func `a dashboard sees kinds that are not known after those that are, and not without end`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, kind)
            SELECT 1, lpad(to_hex(n), 4, '0'), (ARRAY['depth', 'widget', 'spatial', 'device', 'voip'])[n % 5 + 1]
            FROM generate_series(1, 50) n;
            INSERT INTO carillon.apps (name) VALUES ('odd');
            INSERT INTO carillon.tokens (app_id, token, kind)
            SELECT 2, lpad(to_hex(n), 4, '0'), 'kind' || n FROM generate_series(1, 300) n
            """
        )
        #expect(
            try await database.rows("SELECT kind, tokens FROM carillon.token_counts() WHERE app = 'demo'")
                == ["(device,10)", "(voip,10)", "(widget,10)", "(depth,10)", "(spatial,10)"]
        )
        #expect(try await database.number("SELECT count(*) FROM carillon.token_counts() WHERE app = 'odd'") == 50)
    }
}
