import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// What `carillon check` says of channels.
@Suite(.shop) struct ChannelCheckTests {
    @Test func `an app without channels has no line about them`() async throws {
        let check = try await shop.run("check")
        #expect(!check.output.contains("channel"), "\(check.output)")
    }

    @Test func `channels that are missing, and a channel service that cannot be reached, are named`() async throws {
        try await shop.database.connection.script(
            """
            UPDATE carillon.apps SET channel_gateway = 'localhost:1';
            INSERT INTO carillon.channels (app_id, reference, policy, channel_id, state, last_error)
            SELECT a.id, r, 0, r, 'missing', 'Apple no longer has this channel.'
            FROM carillon.apps a, (VALUES ('match'), ('next')) AS v(r)
            """
        )
        let check = try await shop.run("check")
        #expect(check.status == 69, "\(check.output)")
        let missing = "warning  channels      The channel 'match' and 1 other of the app shop cannot be published "
        #expect(check.output.contains(missing + "to: Apple no longer has this channel."), "\(check.output)")
        #expect(check.output.contains("failed   channels"))
        #expect(check.output.contains("(the channel service of shop)"))
    }

    @Test func `an app with a gateway of its own needs the channel service of its own`() async throws {
        try await shop.database.run("SELECT carillon.record_channel('shop', 'QUJD', 0, 'match')")
        let check = try await shop.run("check")
        #expect(check.status == 78, "\(check.output)")
        #expect(check.output.contains("The channels of the app shop cannot be managed: "), "\(check.output)")
        #expect(check.output.contains("--channel-gateway"))
    }

    @Test func `an app is not removed while it has channels`() async throws {
        try await shop.database.run("SELECT carillon.record_channel('shop', 'QUJD', 0, 'match')")
        let refused = try await shop.run("app", "remove", "shop", "--yes")
        #expect(refused.status != 0 && refused.errors.contains("carillon channel remove"), "\(refused.errors)")
        try await shop.database.run("DELETE FROM carillon.channels")
        #expect(try await shop.run("app", "remove", "shop", "--yes").status == 0)
    }
}
