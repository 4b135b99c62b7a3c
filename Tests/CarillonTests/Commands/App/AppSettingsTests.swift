import ApplePushSimulator
import TestSupport
import Testing

@testable import Carillon

/// `app set` and `app show`.
@Suite(.shop) struct AppSettingsTests {
    @Test func `names with white space or commas stand in quotes where names are listed`() async throws {
        for name in ["a b", "c,d"] {
            let added = try await shop.run("app", "add", name, "--topic", Shop.topic, "--credential", "shop")
            #expect(added.status == 0, "\(added.errors)")
        }
        let list = try await shop.run("credential", "list").output
        #expect(list.contains(#""a b","c,d",shop"#), "\(list)")
    }

    @Test func `everything of an app is changed by one command and shown by another`() async throws {
        let set = try await shop.run([
            "app", "set", "shop", "--rename", "store", "--topic", "com.example.shop.voip", "--environment",
            "sandbox", "--max-rate", "500", "--max-per-device", "2", "--max-attempts", "3", "--feedback-gateway",
            "localhost:2196", "--reap-bad-tokens", "--collapse-unknown", "--keep-unique-ids",
            "--keep-sent", "30d",
        ])
        #expect(set.status == 0 && set.output == "Changed the app store.\n")
        let show = try await shop.run("app", "show", "store")
        #expect(show.status == 0)
        #expect(
            try await shop.run("app", "add", "store", "--topic", "a.b", "--credential", "shop").errors.contains(
                "app set"
            )
        )
        for text in [
            "com.example.shop.voip", "sandbox", "500 a second", "2 background pushes an hour", "localhost:2196",
            " 30d\n",
            "active",
        ] {
            #expect(show.output.contains(text))
        }
        let json = try await shop.run("app", "show", "store", "--json").output
        #expect(json.contains("\"max_rate\":500,\"max_per_device\":2") && json.contains("\"reap_bad_tokens\":true"))
        #expect(json.contains("\"collapse_unknown\":true,\"keep_unique_ids\":true,\"keep_sent\":2592000"))
        #expect(try await shop.database.value("SELECT keep_sent FROM carillon.apps") == "30 days")
        #expect(json.contains("\"max_attempts\":3") && json.contains("BEGIN CERTIFICATE"))
    }

    @Test func `each setting is shown by the name of its option`() async throws {
        let lines = try await shop.run("app", "show", "shop").output.split(separator: "\n")
        let names = lines.compactMap { $0.split(separator: " ").first.map(String.init) }
        let options = AppOptions.changes.map(\.flag).filter { $0 != Option.rename.flag && $0 != Option.clear.flag }
        #expect(names.sorted() == (options + ["name", "state", "waiting", "added", "changed"]).sorted())
    }

    @Test func `further topics are listed with a comma between them, replaced, and cleared`() async throws {
        let list = "com.example.shop.watch,com.bank"
        let set = try await shop.run("app", "set", "shop", "--topics", list)
        #expect(set.status == 0 && set.errors.contains("not for com.bank: APNs will refuse"), "\(set.errors)")
        let show = try await shop.run("app", "show", "shop").output
        #expect(show.contains("topics                   com.example.shop.watch, com.bank\n"), "\(show)")
        #expect(try await shop.run("app", "list").output.contains("com.example.shop +2"))
        let json = try await shop.run("app", "list", "--json").output
        #expect(json.contains(#""topics":["com.example.shop.watch","com.bank"]"#), "\(json)")
        for bad in ["", "a b", "com.one, com.two", String(repeating: "x", count: 256)] {
            let refused = try await shop.run("app", "set", "shop", "--topics", bad)
            #expect(refused.status == 78 && refused.errors.contains("visible ASCII"), "\(bad): \(refused.errors)")
        }
        #expect(try await shop.run("app", "set", "shop", "--max-rate", "5").status == 0)
        #expect(try await shop.run("app", "set", "shop", "--topics", "com.bank").status == 0)
        #expect(try await shop.database.value("SELECT topics FROM carillon.apps") == "{com.bank}")
        #expect(try await shop.run("app", "set", "shop", "--clear", "topics").status == 0)
        #expect(try await shop.run("app", "show", "shop").output.contains("topics                   no others\n"))
        let added = try await shop.run(
            ["app", "add", "two", "--topic", "com.two", "--credential", "shop", "--topics", "com.three"]
        )
        #expect(added.status == 0, "\(added.errors)")
        #expect(try await shop.run("app", "show", "two", "--json").output.contains(#""topics":["com.three"]"#))
    }

    /// Its certificate is for its own gateway alone.
    @Test func `an app with a binary gateway of its own reads no feedback list, unless it names one`() async throws {
        #expect(try await shop.run("app", "set", "shop", "--protocol", "binary").status == 0)
        #expect(try await shop.run("app", "show", "shop").output.contains("feedback-gateway         none: no list"))
        let once = try await shop.run("feedback", "--once")
        #expect(once.status == 0 && !once.errors.contains("feedback.push.apple.com"), "\(once.errors)")
        let named = try await shop.run("app", "set", "shop", "--feedback-gateway", "localhost:1")
        #expect(named.status == 0)
        #expect(try await shop.run("feedback", "--once").errors.contains("localhost:1"))
        #expect(try await shop.run("app", "set", "shop", "--feedback-gateway", "none").status == 0)
        #expect(try await shop.run("app", "show", "shop").output.contains("feedback-gateway         none: no list"))
        #expect(try await shop.run("feedback", "--once").status == 0)
        #expect(try await shop.run("app", "set", "shop", "--clear", "gateway").status == 0)
        #expect(try await shop.run("app", "show", "shop").output.contains("feedback-gateway         Apple's"))
    }

    @Test func `a change leaves the rest as it is, and what is cleared has no value`() async throws {
        #expect(try await shop.run("app", "set", "shop", "--max-rate", "7").status == 0)
        #expect(try await shop.run("app", "show", "shop").output.contains("feedback-gateway         none\n"))
        let before = try await shop.run("app", "show", "shop", "--json").output
        #expect(before.contains("localhost:\(shop.gateway.port)"))
        let cleared = try await shop.run("app", "set", "shop", "--clear", "gateway", "--clear", "max-rate")
        #expect(cleared.status == 0)
        let after = try await shop.run("app", "show", "shop", "--json").output
        for text in ["\"gateway\":null", "\"gateway_ca\":null", "\"max_rate\":null"] {
            #expect(after.contains(text))
        }
        #expect(after.contains("\"topic\":\"com.example.shop\""))
    }

    @Test func `a change that cannot be is refused whole`() async throws {
        let nothing = try await shop.run("app", "set", "shop")
        #expect(nothing.status == 2 && nothing.errors.contains("something to change"))
        let both = try await shop.run("app", "set", "shop", "--clear", "max-rate", "--max-rate", "5")
        #expect(both.status == 2 && both.errors.contains("--clear max-rate and --max-rate contradict each other"))
        let unknown = try await shop.run("app", "set", "shop", "--max-rate", "5", "--credential", "nobody")
        #expect(unknown.status == 1 && unknown.errors.contains("no credential named nobody"))
        #expect(try await shop.run("app", "show", "shop", "--json").output.contains("\"max_rate\":null"))
        for command in ["set", "show"] {
            let words = command == "set" ? ["--max-rate", "5"] : []
            let run = try await ProgramRun.run(
                ["app", command, "shpo"] + words,
                environment: ["DATABASE_URL": shop.database.url]
            )
            #expect(run.status == 1 && run.errors.contains("no app named shpo") && run.errors.contains("shop"))
        }
        let silent = try await shop.run([
            "app", "add", "old", "--topic", Shop.topic, "--credential", "shop", "--protocol", "binary",
        ])
        #expect(silent.status == 0 && silent.errors.contains("sends nothing: give it a gateway"))
        let mismatch = try await shop.run("app", "set", "shop", "--topic", "com.other")
        #expect(mismatch.status == 0 && mismatch.errors.contains("APNs will refuse"))
    }
}
