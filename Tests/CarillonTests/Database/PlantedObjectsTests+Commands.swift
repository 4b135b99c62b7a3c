import TestSupport

@testable import Carillon

extension PlantedObjectsTests {
    /// Each command with a database, so that all its statements run.
    static func commands(_ shop: Shop) throws -> [[String]] {
        let certificate = try shop.folder.write("new.pem", try PyapnsClient.certificate("com.example.new"))
        let tokens = try shop.folder.write("tokens.csv", "token,locale\n\(Shop.token("cc")),de\n")
        // The second batch is copied.
        let many = try shop.folder.write(
            "many.csv",
            (0...50_000).map { String(0x100000 + $0, radix: 16) + "\n" }.joined()
        )
        let token = try shop.folder.write("token", "an-export-token")
        let metrics = try shop.folder.write("metrics.csv", "Push Type,Status,Date (UTC),Count\nalert,x,2026-01-01,1\n")
        let text = ["--alert", "hi", "--wait", "0s"]
        return [
            ["migrate", "status"], ["migrate", "up"], ["adopt"],
            ["adopt", "--expire-before", "2000-01-01T00:00:00Z", "--yes"],
            ["credential", "import", "new", "--file", certificate],
            ["credential", "list"], ["credential", "check", "new"], ["credential", "check", "ill"],
            ["app", "add", "new", "--credential", "new", "--topic", "com.example.new", "--gateway", "localhost:1"],
            ["app", "set", "new", "--max-rate", "10"], ["app", "list"], ["app", "show", "new"],
            ["app", "pause", "new"], ["app", "resume", "new"], ["app", "pause", "new"],
            ["app", "move", "new", "--status"],
            ["tokens", "import", "--app", "new", tokens], ["tokens", "import", "--app", "away", many],
            ["send", "--app", "new", "--token", Shop.token("aa")] + text, ["broadcast", "--app", "new"] + text,
            ["send", "--app", "shop", "--token", Shop.token("dead"), "--alert", "hi", "--wait", "60s"],
            ["broadcast", "--app", "shop", "--alert", "hi", "--wait", "60s"],
            ["channel", "create", "--app", "shop", "match", "--wait", "60s"], ["channel", "list"],
            ["channel", "read", "--app", "shop", "match"],
            ["channel", "remove", "--app", "shop", "match", "--yes", "--wait", "60s"],
            ["channel", "create", "--app", "shop", "lost", "--wait", "60s"], ["channel", "sync", "--app", "shop"],
            ["channel", "sync", "--app", "shop", "--remove-unknown", "--grace", "0s"],
            ["message", "show", "1"], ["message", "cancel", "1"], ["message", "cancel", "2"],
            ["message", "cancel", "--owner", "u"],
            ["trace", "new", "--owner", "u"], ["trace", "new", "--token", Shop.token("cc")],
            ["trace", "new", "--reference", "r"], ["trace", "new", "--message", "1"],
            ["forget", "new", "nobody", "--yes"],
            ["webhook", "add", "new", "--app", "new", "--url", "https://127.0.0.1:1/", "--allow-private"],
            ["webhook", "list"],
            ["webhook", "show", "new"], ["webhook", "pause", "new"], ["webhook", "resume", "new"],
            ["webhook", "redeliver", "new", "--since", "1h"], ["webhook", "rotate-secret", "new"],
            ["webhook", "remove", "new", "--yes"],
            [
                "metrics", "set-token", "new", "--export-token-file", token, "--expires", "2100-01-01", "--team-id",
                "ABCDE12345",
            ],
            ["metrics", "fetch", "--service", "https://127.0.0.1:1"], ["metrics", "import", "--app", "new", metrics],
            ["metrics", "show"], ["check"], ["metrics", "remove-token", "new"],
            ["api-token", "create", "--app", "new", "it"], ["api-token", "list"],
            ["api-token", "remove", "--app", "new", "it"],
            ["failures", "list"], ["failures", "list", "--reason", "Nope"],
            ["failures", "requeue", "--app", "new", "--dry-run"],
            ["failures", "requeue", "--app", "shop"], ["feedback", "--dry-run"],
            ["feedback", "--once"], ["status"], ["check"], ["worker", "--once"], ["app", "remove", "new", "--yes"],
            ["credential", "remove", "new"],
        ]
    }
}
