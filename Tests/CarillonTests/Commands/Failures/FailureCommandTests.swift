import ApplePushSimulator
import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// `failures` and `broadcast`, with a worker that brings the outcomes.
@Suite struct FailureCommandTests {
    @Test func `failed pushes are listed, requeued once, and then sent`() async throws {
        try await Shop.with(answers: ["dead=410:Unregistered", "bad=400:BadTopic"]) { shop in
            try await shop.database.connection.script(
                """
                SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("bad1"))', '\(Shop.token("dead"))', '\(Shop.token("a0"))'],
                    'hi', reference => 'order 7')
                """
            )
            #expect(try await shop.drain().status == 0)
            let list = try await shop.run("failures", "list")
            #expect(list.status == 0)
            #expect(list.output.contains(Shop.token("bad1")) && list.output.contains("410"))
            let json = try await shop.run("failures", "list", "--reason", "BadTopic", "--app", "shop", "--json").output
            #expect(json.contains("\"reference\":\"order 7\"") && json.contains("\"status\":400"))
            #expect(!json.contains("Unregistered"))
            #expect(
                try await shop.run("failures", "list", "--app", "shop", "--reason", "BadPath").output
                    == "Nothing failed.\n"
            )
            let short = try await shop.run("failures", "list", "--limit", "1")
            #expect(short.output.split(separator: "\n").count == 2 && short.errors.contains("--limit"))
            let shortJSON = try await shop.run("failures", "list", "--limit", "1", "--json").output
            #expect(shortJSON.hasSuffix("],\"failures_precision\":\"at least\"}\n"), "\(shortJSON)")
            #expect(
                json.hasPrefix("{\"failures\":[{") && json.hasSuffix("],\"failures_precision\":\"exact\"}\n"),
                "\(json)"
            )
            // As many as there are.
            let all = try await shop.run("failures", "list", "--limit", "2")
            #expect(all.output.split(separator: "\n").count == 3 && !all.errors.contains("--limit"), "\(all.errors)")

            let dry = try await shop.run("failures", "requeue", "--dry-run", "--since", "1h")
            #expect(dry.output == "1 push would be requeued.\n")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 0)
            let requeued = try await shop.run("failures", "requeue", "--app", "shop", "--json")
            #expect(requeued.output == "{\"pushes\":1,\"dry_run\":false}\n")
            #expect(try await shop.run("failures", "requeue").output == "Requeued 0 pushes.\n")
            #expect(try await shop.drain().status == 0)
            #expect(await shop.gateway.receivedRequests().filter { $0.token == Shop.token("bad1") }.count == 2)
            #expect(
                try await shop.database.number("SELECT count(*) FROM carillon.failures WHERE reason = 'BadTopic'") == 2
            )
        }
    }

    @Test(.shop) func `an app that does not exist is no good news`() async throws {
        for command in ["list", "requeue"] {
            let run = try await shop.run("failures", command, "--app", "shpo")
            #expect(run.status == 1 && run.errors.contains("no app named shpo"))
        }
    }

    @Test(.shop) func `a name that nobody has ends every command in the same way`() async throws {
        for words in [
            ["app", "pause", "none"], ["app", "remove", "none"], ["app", "show", "none"],
            ["credential", "check", "none"], ["credential", "remove", "none"],
            ["failures", "list", "--app", "none"],
            ["failures", "requeue", "--message", "77"], ["failures", "list", "--message", "77"],
            ["message", "show", "77"], ["message", "cancel", "77"], ["feedback", "--once", "--app", "none"],
            ["send", "--app", "none", "--token", "aa", "--alert", "hi"],
            ["broadcast", "--app", "none", "--alert", "hi"],
        ] {
            let run = try await ProgramRun.run(words, environment: ["DATABASE_URL": shop.database.url])
            #expect(run.status == 1, "\(words): \(run.status) \(run.errors)")
            #expect(run.output == "" && run.errors.contains(words.contains("77") ? "77" : "none"))
        }
    }

    @Test
    func `an unknown reason is refused with what was meant, and one of the gateway's own is taken`() async throws {
        try await Shop.with(answers: ["bad=400:OutOfStars"]) { shop in
            for command in ["list", "requeue"] {
                let run = try await shop.run("failures", command, "--reason", "BadDeviceTokn")
                #expect(run.status == 2 && run.errors.contains("Did you mean 'BadDeviceToken'?"))
                #expect(try await shop.run("failures", command, "--reason", "OutOfStars").status == 2)
            }
            try await shop.database.connection.script(
                "SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("bad1"))'], 'hi')"
            )
            #expect(try await shop.drain().status == 0)
            #expect(try await shop.run("failures", "list", "--reason", "OutOfStars").output.contains("OutOfStars"))
        }
    }

    @Test(.shop) func `pushes that may have been delivered are requeued only by the flag that says so`() async throws {
        for words in [["--reason", "OutcomeUnknown"], ["--reason", "OutcomeUnknown", "--dry-run"]] {
            let run = try await shop.run(["failures", "requeue"] + words)
            #expect(run.status == 2 && run.errors.contains("--include-unknown"), "\(run.errors)")
        }
        let run = try await shop.run("failures", "requeue", "--reason", "OutcomeUnknown", "--include-unknown")
        #expect(run.output == "Requeued 0 pushes.\n", "\(run.errors)")
        #expect(try await shop.run("failures", "list", "--reason", "OutcomeUnknown").status == 0)
    }

    @Test(.shop) func `a broadcast is followed until it has ended`() async throws {
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.tokens (app_id, token)
            SELECT a.id, lpad(to_hex(n), 64, '0') FROM carillon.apps a, generate_series(1, 1500) n
            """
        )
        let early = try await shop.run("broadcast", "--app", "shop", "--alert", "hi", "--wait", "1ms")
        #expect(early.status == 75 && early.errors.contains("carillon message cancel "))
        try await TestLoop.with { loop in
            let worker = try shop.start("worker")
            _ = try await worker.line(containing: "has started", on: loop)
            let run = try await shop.run("broadcast", "--app", "shop", "--alert", "hi", "--expires-in", "1h")
            #expect(run.status == 0 && run.output.contains("1,500 of 1,500 sent."))
            let json = try await shop.run("broadcast", "--app", "shop", "--payload", "{\"aps\":{}}", "--json")
            #expect(json.status == 0 && json.output.contains("\"tokens\":1500,\"sent\":1500,\"failed\":0"))
            _ = try await worker.end(by: 15, on: loop)
        }
    }

    @Test(.shop) func `a broadcast to an app without tokens says so and is no failure`() async throws {
        let run = try await shop.run("broadcast", "--app", "shop", "--alert", "hi")
        #expect(run.status == 0 && run.output == "App 'shop' has no registered tokens: nothing was enqueued.\n")
        let json = try await shop.run("broadcast", "--app", "shop", "--alert", "hi", "--json")
        #expect(json.status == 0 && json.output == "{\"id\":null,\"tokens\":0}\n")
    }

    @Test(.shop) func `an alert on the command line has a title and a body, or is JSON`() async throws {
        for arguments in [
            ["--title", "T", "--subtitle", "S", "--body", "B"],
            ["--alert", #"{"title":"T","subtitle":"S","body":"B"}"#],
            ["--payload", #"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"}}}"#],
        ] {
            let send = ["send", "--app", "shop", "--token", Shop.token("a0"), "--wait", "0s"]
            let run = try await ProgramRun.run(send + arguments, environment: ["DATABASE_URL": shop.database.url])
            #expect(run.status == 0, "\(run.errors)")
        }
        #expect(
            try await shop.database.number(
                """
                SELECT count(*) FROM carillon.messages
                WHERE payload::text = '{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"}}}'
                """
            ) == 3
        )
        let refused = try await shop.run([
            "send", "--app", "shop", "--token", Shop.token("a0"), "--payload", "{", "--wait", "0s",
        ])
        #expect(refused.status == 2 && refused.errors.contains("payload\" takes a JSON object, got {"))
    }

    @Test(.shop) func `a cancelled push is an outcome too`() async throws {
        async let sent = shop.run("send", "--app", "shop", "--token", Shop.token("a0"), "--alert", "hi", "--json")
        try await TestLoop.shared.eventually("the push is cancelled") {
            let query = "SELECT coalesce(sum(carillon.cancel(id)), 0)::int8 FROM carillon.messages"
            return try await shop.database.number(query) > 0
        }
        let run = try await sent
        #expect(run.status == 1 && run.output.contains("\"cancelled\":1,\"waiting\":0"))
    }
}
