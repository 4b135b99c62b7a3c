import CarillonPostgres
import TestSupport
import Testing

/// An app whose topic is not the credential's: every push of it fails for good.
@Suite(.shop) struct WrongTopicTests {
    @Test func `the log, status and check name the reason and the remedy, which works`() async throws {
        try await shop.database.connection.script("UPDATE carillon.apps SET topic = 'com.elsewhere'")
        try await shop.enqueue(20)
        let worker = try await shop.drain()
        let failures = "SELECT count(*) FROM carillon.failures WHERE reason = 'TopicDisallowed'"
        #expect(try await shop.database.number(failures) == 20)
        let lines = worker.errors.split(separator: "\n").filter { $0.contains("TopicDisallowed") }
        let line = try #require(lines.first, "\(worker.errors)")
        for part in [
            #""level":"warning""#, "Pushes fail for good because of their topic, and none was sent meanwhile.",
            #""app":"shop""#, #""topic":"com.elsewhere""#, #""status":400"#,
            "carillon app set shop --topic TOPIC",
            "carillon failures requeue --app shop --reason TopicDisallowed",
        ] {
            #expect(line.contains(part), "\(part)\n\(line)")
        }
        let status = try await shop.run("status").output
        let row = try #require(status.split(separator: "\n").first { $0.hasPrefix("shop ") })
        #expect(status.contains("MOSTLY AS") && row.contains("TopicDisallowed"), "\(status)")
        let json = try await shop.run("status", "--json").output
        #expect(json.contains(#""failure_reason":"TopicDisallowed""#), "\(json)")
        let check = try await shop.run("check").output
        let sentence =
            "Of 20 pushes of the app shop in the last hour, all failed, most of them as TopicDisallowed."
        #expect(check.contains(sentence), "\(check)")
        #expect(check.contains("carillon app set shop --topic TOPIC"), "\(check)")

        #expect(try await shop.run("app", "set", "shop", "--topic", Shop.topic).status == 0)
        let requeue = try await shop.run("failures", "requeue", "--app", "shop", "--reason", "TopicDisallowed")
        #expect(requeue.status == 0, "\(requeue.errors)")
        let again = try await shop.drain()
        #expect(again.status == 0, "\(again.errors)")
        #expect(try await shop.database.number("SELECT sum(sent)::bigint FROM carillon.results") == 20)
    }

    @Test
    func `an app whose topic is wrong is paused before all of its messages fail, and the log says why`() async throws {
        try await shop.database.connection.script("UPDATE carillon.apps SET topic = 'com.elsewhere'")
        try await shop.enqueue(500)
        let worker = try await shop.drain("--max-in-flight", "100")
        #expect(worker.errors.contains("An app was paused"), "\(worker.errors)")
        let query = "SELECT paused_reason FROM carillon.apps WHERE paused"
        let reason = try #require(try await shop.database.value(query))
        #expect(reason.contains("failed because of their topic") && reason.contains("com.elsewhere"), "\(reason)")
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.failures") < 500)
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.pending") > 0)
    }

    @Test func `each topic that the certificate does not cover is named, the listed ones too`() async throws {
        let set = try await shop.run([
            "app", "set", "shop", "--topics", "com.elsewhere,com.example.shop.voip,com.third",
        ])
        let others = [try await shop.run("app", "show", "shop").errors, try await shop.run("check").output]
        for text in [set.errors] + others {
            for topic in ["com.elsewhere", "com.third"] {
                #expect(text.contains("is for com.example.shop, not for \(topic): APNs will refuse"), "\(text)")
            }
            #expect(!text.contains("not for com.example.shop"), "\(text)")
        }
    }

    @Test func `an app that sends names no reason`() async throws {
        try await shop.enqueue(3)
        let worker = try await shop.drain()
        #expect(worker.status == 0 && !worker.errors.contains("because of their topic"), "\(worker.errors)")
        #expect(try await shop.run("status", "--json").output.contains(#""failure_reason":null"#))
        #expect(!(try await shop.run("check").output.contains("in the last hour")))
    }
}
