import CarillonPostgres
import FoundationEssentials
import Testing

@testable import CarillonWebhooks

@Suite struct WebhookBodyTests {
    private static func event(_ kind: String, reference: String? = nil, token: String? = nil) -> WebhookEvent {
        WebhookEvent(
            id: "7-1-1",
            kind: kind,
            happenedAt: Moment(1_700_000_000_250_000),
            app: "acme",
            messageId: 9,
            broadcastId: nil,
            reference: reference,
            token: token,
            status: nil,
            reason: nil,
            unregisteredAt: nil,
            sent: nil,
            failed: nil,
            expired: nil,
            cancelled: nil
        )
    }

    @Test func `a batch is one object, without what its events do not have`() {
        let bytes = WebhookBody.write(
            [Self.event("sent", token: "ab"), Self.event("finished", reference: "r-1")],
            at: Moment(seconds: 1_700_000_001)
        )
        #expect(
            String(decoding: bytes, as: UTF8.self) == """
                {"type":"carillon.events","timestamp":"2023-11-14T22:13:21.000Z","data":[{"id":"7-1-1","kind":"sent",\
                "happened_at":"2023-11-14T22:13:20.250Z","app":"acme","message_id":9,"token":"ab"},{"id":"7-1-1",\
                "kind":"finished","happened_at":"2023-11-14T22:13:20.250Z","app":"acme","message_id":9,"reference":"r-1"}]}
                """
        )
    }

    private struct Batch: Decodable {
        struct Event: Decodable { let reference: String }
        let data: [Event]
    }

    @Test(arguments: [#""},{"x":"#, "\u{0}\u{1f}\n\t", "é🎉\u{2028}", #"\"#])
    func `whatever a reference contains, it stays one text`(reference: String) throws {
        let bytes = WebhookBody.write([Self.event("sent", reference: reference)], at: Moment(0))
        let batch = try JSONDecoder().decode(Batch.self, from: Data(bytes))
        #expect(batch.data.map(\.reference) == [reference])
    }
}
