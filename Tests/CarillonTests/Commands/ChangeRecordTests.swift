import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// What the command line changes is recorded with who has run it.
@Suite(.shop) struct ChangeRecordTests {
    private static func recorded(in shop: Shop) async throws -> [String] {
        try await shop.database.rows(
            """
            SELECT action, app FROM carillon.audit
            WHERE source = 'command line' AND on_behalf_of LIKE '_%@_%' AND actor = CASE
                WHEN action IN ('cancel', 'requeue') THEN '\(TestLogin.app.rawValue)' ELSE session_user END
            ORDER BY id
            """
        )
    }

    @Test
    func `each command that changes something is recorded once, and one that changes nothing is not`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            VALUES (7, 1, 'aa', 500, 'InternalServerError');
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
            VALUES (7, 1, 1, '{"aps":{"alert":"a"}}', 'alert', 'retry')
            """
        )
        let id = try #require(
            try await shop.database.value("carillon.enqueue('shop', '{aa}', 'hi', run_at => now() + interval '1 hour')")
        )
        let bundle = shop.folder.file("shop.p12")
        try CredentialFixtures.bundle.write(to: URL(filePath: bundle))
        let passphrase = try shop.folder.write("passphrase", CredentialFixtures.passphrase)
        let credential = ["--file", bundle, "--passphrase-file", passphrase]
        let commands: [(words: [String], rows: [String])] = [
            (["credential", "import", "new"] + credential, ["(\"add credential\",)"]),
            (["credential", "import", "new"] + credential, []),
            (
                ["app", "add", "try", "--credential", "new", "--topic", "com.example.fixture"],
                ["(\"add app\",try)"]
            ),
            (["app", "set", "try", "--max-rate", "5"], ["(\"set app\",try)"]),
            (["app", "set", "try", "--max-rate", "5"], []),
            (["app", "pause", "try"], ["(pause,try)"]), (["app", "pause", "try"], []),
            (["app", "resume", "try"], ["(resume,try)"]),
            (["message", "cancel", id], ["(cancel,shop)"]),
            (["failures", "requeue", "--app", "shop", "--dry-run"], []),
            (["failures", "requeue", "--app", "shop"], ["(requeue,shop)"]),
            (["channel", "create", "--app", "try", "match", "--wait", "0s"], ["(\"request channel\",try)"]),
            (
                ["channel", "remove", "--app", "try", "match", "--yes", "--wait", "0s"],
                ["(\"remove channel\",try)"]
            ),
            (["app", "remove", "try", "--yes"], ["(\"remove app\",try)"]),
            (["credential", "remove", "new"], ["(\"remove credential\",)"]),
            (["app", "list"], []),
        ]
        for (words, rows) in commands {
            let before = try await Self.recorded(in: shop).count
            let run = try await shop.run(words)
            #expect(run.status == 0, "\(words): \(run.errors)")
            #expect(try await Array(Self.recorded(in: shop).dropFirst(before)) == rows, "\(words)")
        }
    }

    @Test func `a role without rights on the record is recorded, too`() async throws {
        try await shop.withLogin(password: "sparrow") { address, name in
            let url = "postgresql://\(name):sparrow@\(address)"
            let run = try await ProgramRun.run(["app", "pause", "shop"], environment: ["DATABASE_URL": url])
            #expect(run.status == 0, "\(run.errors)")
            #expect(
                try await shop.database.rows("SELECT actor, action FROM carillon.audit WHERE source = 'command line'")
                    == ["(\(name),pause)"]
            )
        }
    }
}
