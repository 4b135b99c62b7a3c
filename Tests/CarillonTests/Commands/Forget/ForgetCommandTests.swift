import TestSupport
import Testing

/// `forget` says what it erases, and asks first.
@Suite(.shop) struct ForgetCommandTests {
    @Test func `without --yes nothing is erased, and with it what was announced`() async throws {
        try await shop.database.run(
            """
            SELECT carillon.register_token('shop', '\(Shop.token("aa"))', 'anna'),
                carillon.register_token('shop', '\(Shop.token("bb"))', 'bob');
            SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("aa"))', '\(Shop.token("bb"))'], 'x', reference => 'to anna')
            """
        )
        let losses = "1 row of messages and 1 row of tokens"
        let asked = try await shop.run("forget", "shop", "anna")
        #expect(asked.status == 2 && asked.errors.contains("deletes or changes \(losses)"), "\(asked.errors)")
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.tokens") == 2)
        let done = try await shop.run("forget", "shop", "anna", "--yes")
        #expect(done.status == 0 && done.output == "Forgot the owner anna of shop: \(losses).\n", "\(done)")
        #expect(try await shop.database.value("SELECT t.owner FROM carillon.tokens t") == "bob")
        #expect(
            try await shop.database.rows("SELECT m.tokens, m.reference FROM carillon.messages m") == [
                "({\(Shop.token("bb"))},)"
            ]
        )
        let again = try await shop.run("forget", "shop", "anna", "--yes", "--json")
        #expect(again.status == 1 && again.output.contains(#""messages":0,"scheduled":0,"inflight":0,"#), "\(again)")
    }

    @Test func `an owner of whom nothing is found is not asked about, and other apps with their tokens are named`()
        async throws
    {
        try await shop.database.run(
            """
            INSERT INTO carillon.apps (name, topic) VALUES ('cafe', 'com.example.cafe'), ('bar', 'com.example.bar');
            SELECT carillon.register_token('shop', '\(Shop.token("aa"))', 'anna'),
                carillon.register_token('cafe', '\(Shop.token("bb"))', 'anna'),
                carillon.register_token('bar', '\(Shop.token("cc"))', 'bob')
            """
        )
        let stranger = try await shop.run("forget", "shop", "bert")
        #expect(stranger.status == 1 && stranger.output == "", "\(stranger)")
        #expect(stranger.errors.contains("Nothing of the owner bert of shop was found."), "\(stranger)")
        let others = "Device tokens of this owner are left in other apps: cafe.\n"
        let done = try await shop.run("forget", "shop", "anna", "--yes")
        #expect(done.status == 0 && done.errors == others, "\(done)")
        let last = try await shop.run("forget", "cafe", "anna", "--yes")
        #expect(last.status == 0 && last.errors == "", "\(last)")
    }
}
