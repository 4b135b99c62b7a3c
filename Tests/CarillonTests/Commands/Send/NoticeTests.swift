import TestSupport
import Testing

/// What PostgreSQL remarks about a message, the commands that enqueue it print.
@Suite(.shop) struct NoticeTests {
    private static let warning =
        "warning: A device does nothing with this push: its payload has no alert, badge, sound, content-available or key of your "
        + "own. Apple accepts it, and it counts as sent.\n"

    @Test func `send and broadcast warn of a push with which devices do nothing`() async throws {
        let message = ["--app", "shop", "--wait", "0s", "--payload"]
        try await shop.database.run("SELECT carillon.register_token('shop', '\(Shop.token("aa"))')")
        for command in [["send", "--token", Shop.token("aa")], ["broadcast"]] {
            let ignored = try await shop.run(command + message + [#"{"aps":{"category":"x"}}"#])
            #expect(ignored.status == 0 && ignored.errors.hasPrefix(Self.warning), "\(ignored)")
            let shown = try await shop.run(command + message + [#"{"aps":{"alert":"x"}}"#])
            #expect(shown.status == 0 && !shown.errors.contains("warning"), "\(shown)")
        }
        let json = try await shop.run(["send", "--token", Shop.token("aa"), "--json"] + message + ["{}"])
        #expect(json.errors == Self.warning && json.output.hasPrefix("{\"id\":"), "\(json)")
    }

    @Test func `send and broadcast warn of a push type that is not known`() async throws {
        let topic = "com.example.shop.push-type.spatial"
        try await shop.database.run(
            """
            UPDATE carillon.certificates SET topics = '{com.example.shop,\(topic)}';
            SELECT carillon.register_token('shop', '\(Shop.token("aa"))', kind => 'spatial')
            """
        )
        let message = ["--app", "shop", "--wait", "0s", "--alert", "x", "--push-type", "spatial"]
        for command in [["send", "--token", Shop.token("aa")], ["broadcast"]] {
            let sent = try await shop.run(command + message + ["--topic", topic])
            #expect(sent.status == 0, "\(sent)")
            let warning = "warning: Argument \"push_type\" is 'spatial', which this version of Carillon does not know"
            #expect(sent.errors.hasPrefix(warning), "\(sent)")
            let refused = try await shop.run(command + message)
            #expect(refused.status == 2 && refused.errors.contains("pass its topic too"), "\(refused)")
        }
    }
}
