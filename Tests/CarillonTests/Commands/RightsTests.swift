import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// Who may do what: the table of docs/rights.md is what PostgreSQL says.
@Suite struct RightsTests {
    private static let all = ["carillon_app", "carillon_reader", "carillon_operator", "carillon_worker"]

    /// Each command in a form that needs all of its rights, and ends with 0 where they are there.
    private static let commands: [[String]] = [
        ["credential", "list"], ["credential", "check", "shop"], ["app", "list"], ["app", "show", "shop"],
        ["app", "pause", "shop"], ["app", "resume", "shop"], ["app", "set", "shop", "--max-rate", "5"],
        ["app", "add", "new", "--topic", "com.example.new", "--credential", "spare"],
        ["app", "remove", "shop", "--yes"],
        ["credential", "remove", "spare"], ["channel", "list", "--app", "shop"],
        ["api-token", "list"], ["api-token", "create", "new", "--app", "shop"],
        ["api-token", "remove", "new", "--app", "shop"],
        ["send", "--app", "shop", "--token", Shop.token("a0"), "--alert", "hi", "--wait", "0s"],
        ["broadcast", "--app", "shop", "--alert", "hi", "--wait", "1ms"],
        ["message", "show", "900", "--app", "shop"], ["message", "cancel", "901", "--app", "other"],
        ["trace", "shop", "--owner", "u"], ["forget", "shop", "nobody", "--yes"],
        ["tokens", "import", "--app", "shop", "FILE"], ["failures", "list", "--app", "shop", "--message", "900"],
        ["failures", "requeue", "--app", "shop", "--message", "900"],
        ["feedback", "--once", "--app", "shop"], ["feedback", "--dry-run", "--app", "shop"],
        ["webhook", "list"], ["webhook", "show", "crm"], ["webhook", "pause", "crm"], ["webhook", "resume", "crm"],
        ["webhook", "redeliver", "crm", "--since", "1h"], ["webhook", "rotate-secret", "crm"],
        ["webhook", "add", "new", "--app", "other", "--url", "https://127.0.0.1:1/", "--allow-private"],
        ["webhook", "remove", "crm", "--yes"], ["metrics", "show", "--app", "shop"],
        ["metrics", "import", "--app", "shop", "/dev/null"],
        [
            "metrics", "set-token", "shop", "--export-token-file", "FILE", "--expires", "2100-01-01", "--team-id",
            "ABCDE12345",
        ],
        ["metrics", "remove-token", "shop"],
        ["status"], ["check"], ["worker", "--once"], ["migrate", "status"],
    ]

    /// Tried after the others: for an app with channels, `check` needs a channel service.
    private static let channelCommands: [[String]] = [
        ["channel", "create", "new", "--app", "shop", "--wait", "0s"],
        ["channel", "remove", "match", "--app", "shop", "--wait", "0s", "--yes"],
    ]

    /// Those that serve until they are stopped, talk with Apple's channel or export service, or change what the other commands need.
    private static let untried: Set = [
        "web", "pyapns", "channel read", "channel sync", "credential import", "migrate up", "migrate down", "adopt",
        "app move", "metrics fetch",
    ]

    private static let usingDatabase = Command.all.filter { command in
        command.options.contains { $0.flag == Option.database.flag }
    }

    private static func name(_ role: String, _ shop: Shop) -> String {
        "\(role)_\(shop.database.connection.backendProcessID)"
    }

    private func withLogins(_ body: (Shop, _ run: (String, [String]) async throws -> ProgramRun) async throws -> Void)
        async throws
    {
        try await Shop.with { shop in
            let logins = Self.all.map { Self.name($0, shop) }
            for (role, login) in zip(Self.all, logins) {
                try await shop.database.connection.script("CREATE ROLE \(login) LOGIN; GRANT \(role) TO \(login)")
            }
            let tokens = try shop.folder.write("tokens", Shop.token("b0") + "\n")
            try await attempt {
                try await body(shop) { role, words in
                    try await ProgramRun.run(
                        words.map { $0 == "FILE" ? tokens : $0 },
                        environment: ["DATABASE_URL": shop.database.url + "&user=\(Self.name(role, shop))"]
                    )
                }
            } finally: {
                try await shop.database.connection.script("DROP OWNED BY \(logins.joined(separator: ", "))")
                try await shop.database.connection.script("DROP ROLE \(logins.joined(separator: ", "))")
            }
        }
    }

    @Test func `each command works for the roles that it names, and tells all others which it takes`() async throws {
        try await withLogins { shop, run in
            try await shop.database.connection.addApp("other", topic: "com.example.other", to: shop.gateway)
            try await shop.database.connection.script(
                """
                INSERT INTO carillon.failures (message_id, app_id, token, reason, status) VALUES (900, 1, 'aa', 'BadTopic', 400);
                INSERT INTO carillon.results (message_id, app_id, failed, reference) VALUES (900, 1, 1, 'nobody');
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                SELECT 901, max(id), '{aa}', '{}', now() + interval '1 day' FROM carillon.apps;
                SELECT carillon.add_webhook('crm', 'other', 'https://127.0.0.1:1/', NULL, true);
                INSERT INTO carillon.certificates (name, certificate, private_key)
                SELECT 'spare', c.certificate, c.private_key FROM carillon.certificates c WHERE c.name = 'shop'
                """
            )
            for words in Self.commands { try await Self.tryOut(words, run) }
            try await shop.database.connection.script("SELECT carillon.record_channel('shop', 'AAAA', 0, 'match')")
            for words in Self.channelCommands { try await Self.tryOut(words, run) }
        }
    }

    private static func tryOut(_ words: [String], _ run: (String, [String]) async throws -> ProgramRun) async throws {
        let command = try #require(Command.all.first { words.starts(with: $0.words) })
        for role in all {
            let ended = try await run(role, words)
            let said = ended.output + ended.errors
            if command.roles.contains(role) {
                #expect([0, 75].contains(ended.status), "\(role) \(words): \(ended.status) \(said)")
                #expect(!said.lowercased().contains("permission denied"), "\(role) \(words): \(said)")
            } else {
                #expect(ended.status == 78, "\(role) \(words): \(ended.status) \(said)")
                let advice = command.roles.first.map { "GRANT \($0) TO" } ?? "the owner of the schema"
                #expect(said.contains(advice), "\(role) \(words): \(said)")
            }
        }
    }

    @Test func `a worker's login can list failures, but for those of one message`() async throws {
        try await withLogins { shop, run in
            try await shop.database.connection.script(
                "INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES (900, 1, 'aa', 'BadTopic')"
            )
            let words = ["failures", "list", "--app", "shop", "--reason", "BadTopic", "--since", "1h"]
            let list = try await run("carillon_worker", words)
            #expect(list.status == 0 && list.output.contains("BadTopic"), "\(list.errors)")
            #expect(try await run("carillon_worker", words + ["--message", "900"]).status == 78)
        }
    }

    @Test func `no command that uses a database is forgotten here`() {
        let commands = Self.commands + Self.channelCommands
        let tried = Self.usingDatabase.filter { command in commands.contains { $0.starts(with: command.words) } }
        let names = Set(Self.usingDatabase.map { $0.words.joined(separator: " ") })
        #expect(names.subtracting(tried.map { $0.words.joined(separator: " ") }) == Self.untried)
    }

    @Test func `the table in the documentation is the program's`() throws {
        let lines = try GeneratedPage("docs/rights.md").text.split(separator: "\n")
        for role in Self.all + ["the owner"] {
            let line = try #require(lines.first { $0.hasPrefix("| `\(role)`") || $0.hasPrefix("| \(role)") })
            let listed = line.matches(of: /`([a-z -]+)`/).map { String($0.output.1) }
            let known = Self.usingDatabase.filter { role == "the owner" ? $0.roles.isEmpty : $0.roles.contains(role) }
            #expect(Set(listed) == Set(known.map { $0.words.joined(separator: " ") }))
        }
    }
}
