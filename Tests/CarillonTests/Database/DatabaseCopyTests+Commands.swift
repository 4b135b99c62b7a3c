import TestSupport
import Testing

/// What is said of commands that are not refused on a copy.
extension DatabaseCopyTests {
    @Test func `every command after which workers would send warns that a copy sends nothing until it is adopted`()
        async throws
    {
        try await shop.database.run(
            """
            UPDATE carillon.installation SET database_oid = database_oid + 1;
            SELECT carillon.add_webhook('crm', 'shop', 'https://127.0.0.1:1/', NULL, true),
                carillon.note_dead(1, '{aa}', ARRAY[now()]), carillon.register_token('shop', 'ab')
            """
        )
        let commands = [
            "send --app shop --token aa --alert x --wait 0s", "broadcast --app shop --alert x --wait 0s",
            "failures requeue --yes", "channel create r --app shop --wait 0s", "webhook redeliver crm --since 2h",
            "webhook resume crm", "webhook add other --app shop --allow-private --url https://127.0.0.1:1/",
        ]
        for command in commands {
            let run = try await shop.run(command.split(separator: " ").map(String.init))
            let warning = "warning: Nothing is sent from here: this database is a copy"
            #expect(run.status == 0 && run.errors.contains(warning), "\(command): \(run.errors)")
            #expect(run.errors.contains("carillon adopt"))
        }
        try await shop.database.run("UPDATE carillon.channels SET state = 'ready', channel_id = 'QQ=='")
        let removed = try await shop.run("channel", "remove", "r", "--app", "shop", "--yes", "--wait", "0s")
        #expect(removed.errors.contains("Nothing is sent from here"), "\(removed.errors)")
        for command in ["webhook pause crm", "failures requeue --dry-run"] {
            let run = try await shop.run(command.split(separator: " ").map(String.init))
            #expect(run.status == 0 && !run.errors.contains("is a copy"), "\(command): \(run.errors)")
        }
    }
}
