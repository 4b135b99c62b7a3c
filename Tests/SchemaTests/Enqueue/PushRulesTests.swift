import ApplePush
import CarillonPostgres
import CarillonPushRules
import FoundationEssentials
import TestSupport
import Testing

/// The table of what Apple asks of each push type, which SQL and Swift both have, and what SQL makes of it.
@Suite(.demo) struct PushRulesTests {
    private static let all = PushTypeRules.all + [.channel, .unknown]

    @Test func `SQL has the rows of the table in Swift, and each row by its name`() async throws {
        let expected = Self.all.map { rules in
            [
                "\(rules.name)", rules.topicSuffix.utf8CodeUnitCount == 0 ? "\"\"" : "\(rules.topicSuffix)",
                rules.priorities.numbers.count == 1
                    ? "{5}" : "\"{\(rules.priorities.numbers.map(String.init).joined(separator: ","))}\"",
                rules.defaultPriority.map { "\($0)" } ?? "", "\(rules.payloadLimit)", "\(rules.collapseIDLimit)",
                rules.isSilent ? "t" : "f", rules.needsExpiration ? "t" : "f", rules.needsProviderToken ? "t" : "f",
                rules.tokenKind.map { "\($0)" } ?? "", rules.startKind.map { "\($0)" } ?? "",
                rules.isUpdate ? "t" : "f",
            ].joined(separator: ",")
        }
        #expect(try await database.rows("SELECT * FROM carillon.push_types()") == expected.map { "(\($0))" })
        for row in try await database.rows(
            "SELECT p = carillon.rules_of(coalesce(p.push_type, 'smell')) FROM carillon.push_types() AS p"
        ) {
            #expect(row == "(t)")
        }
        for rules in Self.all {
            let isUpdate = try await database.value("carillon.is_update('\(rules.name)')")
            #expect(isUpdate == "\(rules.isUpdate)", "\(rules.name)")
        }
        #expect(try await database.value("SELECT r IS NULL FROM carillon.rules_of(NULL) AS r") == "true")
    }

    @Test func `every push type can be enqueued`() async throws {
        try await database.useSigningKey()
        for type in PushType.all {
            let content = type == .background ? "content_available => true" : "alert => 'x'"
            let id = try await database.value("carillon.enqueue('demo', '{ab}', \(content), push_type => '\(type)')")
            #expect(id != nil, "\(type)")
        }
    }

    @Test func `the error for an unknown push type without a topic lists all push types`() async throws {
        let error = await database.refusal(ofValue: "carillon.enqueue('demo', '{ab}', 'x', push_type => 'smell')")
        let names = PushType.all.map(\.name).joined(separator: ", ")
        #expect(error?.message.hasPrefix("argument \"push_type\" takes one of \(names), got 'smell'") == true)
    }

    @Test func `each push type has its priorities, and the error names them`() async throws {
        try await database.useSigningKey()
        for rules in PushTypeRules.all {
            let content = rules.isSilent ? "content_available => true" : "alert => 'x'"
            for priority in [10, 5, 1] {
                let call =
                    "carillon.enqueue('demo', '{ab}', \(content), push_type => '\(rules.name)', priority => \(priority))"
                if rules.priorities.numbers.contains(priority) {
                    #expect(try await database.value(call) != nil)
                    continue
                }
                let error = await database.refusal(ofValue: call)
                #expect(
                    error?.message
                        == "argument \"priority\" takes \(rules.priorities.text) for push type \(rules.name), got \(priority)"
                )
            }
        }
    }

    @Test func `each push type has its largest payload`() async throws {
        try await database.useSigningKey()
        for rules in PushTypeRules.all where !rules.isSilent {
            for size in [rules.payloadLimit, rules.payloadLimit + 1] {
                let payload = "'{\"a\":\"\(String(repeating: "x", count: size - 8))\"}'"
                let calls = ["payload => \(payload)", "payloads => ARRAY[\(payload)]"]
                for call in calls.map({ "carillon.enqueue('demo', '{ab}', \($0), push_type => '\(rules.name)')" }) {
                    if size == rules.payloadLimit {
                        #expect(try await database.value(call) != nil, "\(rules.name)")
                        continue
                    }
                    let error = await database.refusal(ofValue: call)
                    let limit = "at most \(rules.payloadLimit) bytes for push type \(rules.name), got "
                    #expect(error?.message.contains(limit) == true, "\(error?.message ?? "")")
                    #expect(error?.sqlState == "54000")
                }
            }
        }
    }

    @Test func `the binary protocol has a limit of its own`() async throws {
        try await database.run(
            "INSERT INTO carillon.apps (name, protocol, gateway) VALUES ('old', 'binary', 'localhost:1')"
        )
        for size in [2048, 2049] {
            let payload = "'{\"a\":\"\(String(repeating: "x", count: size - 8))\"}'"
            let alert = "repeat('x', \(size - #"{"aps":{"alert":""}}"#.utf8.count))"
            for content in ["payload => \(payload)", "payloads => ARRAY[\(payload)]", "alert => \(alert)"] {
                let call = "carillon.enqueue('old', '{ab}', \(content))"
                if size == 2048 {
                    #expect(try await database.value(call) != nil)
                    continue
                }
                let error = await database.refusal(ofValue: call)
                let limit = "at most 2048 bytes for the protocol binary, got "
                #expect(error?.message.contains(limit) == true, "\(error?.message ?? "")")
                #expect(error?.sqlState == "54000")
            }
        }
    }

    @Test func `a topic has the ending of its push type and of no other`() async throws {
        try await database.useSigningKey()
        try await database.run("UPDATE carillon.apps SET topic = 'org.example.voip', topics = '{a.b}'")
        for rules in PushTypeRules.all {
            let content = rules.isSilent ? "content_available => true" : "alert => 'x'"
            func call(_ topic: String) -> String {
                "carillon.enqueue('demo', '{ab}', \(content), push_type => '\(rules.name)', topic => '\(topic)')"
            }
            #expect(try await database.value(call("a.b\(rules.topicSuffix)")) != nil)
            let wrong =
                rules.topicSuffix.utf8CodeUnitCount > 0
                ? ["a.b", "\(rules.topicSuffix)", "a.b\(rules.topicSuffix)x"]
                : PushTypeRules.all.map { "a.b\($0.topicSuffix)" }.filter { $0 != "a.b" }
            for topic in wrong {
                let error = await database.refusal(ofValue: call(topic), "\(topic)")
                #expect(error?.message.contains("for push type \(rules.name), got '\(topic)'") == true)
                #expect(error?.hint?.isEmpty == false)
            }
        }
        // The bundle ID of an app may end like that.
        #expect(try await database.value("carillon.enqueue('demo', '{ab}', 'x', topic => 'org.example.voip')") != nil)
    }

    @Test(arguments: [
        ("alert => 'x'", "alert"), ("alert => '{\"body\":\"x\"}'::jsonb", "alert"), ("title => 'x'", "title"),
        ("badge => 1", "badge"), ("badge_add => 1", "badge_add"), ("sound => 'x'", "sound"),
        ("aps => '{\"content-available\":1,\"badge\":1}'", "aps"),
        ("payload => '{\"aps\":{\"alert\":\"x\"}}'", "payload"),
        ("payloads => ARRAY['{}', '{\"aps\":{\"sound\":\"x\"}}']", "payloads"),
    ])
    func `a background push has no alert, badge or sound`(content: String, argument: String) async throws {
        let tokens = argument == "payloads" ? "{aa,bb}" : "{aa}"
        let error = await database.refusal(
            ofValue: "carillon.enqueue('demo', '\(tokens)', \(content), push_type => 'background')"
        )
        #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("for push type background") == true)
        #expect(error?.hint?.contains("leave push_type out") == true)
    }
}
