import Testing

@testable import ApplePush

/// Answers that no channel service of Apple gives.
@Suite struct ChannelExchangeTests {
    private func answer(
        _ action: ChannelRequest.Action,
        id: String = "",
        body: String = ""
    ) throws(ChannelError) -> ChannelRequest.Answer {
        let exchange = ChannelExchange(ChannelRequest(action, of: "org.example.app"))
        let bytes = Array(body.utf8)
        return try exchange.answer(status: 200, channelID: id, retryAfter: nil, body: bytes.span.bytes)
    }

    private func list(_ ids: [String]) throws(ChannelError) -> ChannelRequest.Answer {
        try answer(.list, body: #"{"channels":[\#(ids.map { #""\#($0)""# }.joined(separator: ","))]}"#)
    }

    @Test(arguments: ["", "two words", "é", "\u{7f}", String(repeating: "a", count: 256)])
    func `an answer with an id that no channel has is malformed`(id: String) {
        let created = #expect(throws: ChannelError.self) { try answer(.create(.nothing), id: id) }
        let listed = #expect(throws: ChannelError.self) { try list(["QUJD", id]) }
        #expect(created?.code == .malformed && listed?.code == .malformed)
    }

    @Test func `an escaped NUL in a list is malformed`() {
        let error = #expect(throws: ChannelError.self) { try list([#"a\u0000b"#]) }
        #expect(error?.code == .malformed)
    }

    @Test func `a list has 10,000 channels at most`() throws {
        let ids = (0...10_000).map { "channel-\($0)" }
        #expect(try list(Array(ids.dropLast())) == .list(ids.dropLast().map { ChannelID($0) }))
        let error = #expect(throws: ChannelError.self) { try list(ids) }
        #expect(error?.message.contains("lists more than 10000 channels") == true)
    }

    @Test func `ids of up to 255 visible ASCII characters are accepted`() throws {
        for id in ["/+=", "!~", String(repeating: "a", count: 255)] {
            #expect(try answer(.create(.nothing), id: id) == .created(ChannelID(id)))
        }
    }
}
