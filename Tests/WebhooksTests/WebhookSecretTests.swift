import CarillonTLS
import CarillonWebhooks
import Testing

@Suite struct WebhookSecretTests {
    /// From the libraries of Standard Webhooks.
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let body = Array(#"{"test": 2432232314}"#.utf8)
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"

    @Test func `a signature is the one that the specification gives`() throws {
        let secret = try #require(WebhookSecret(Self.secret))
        #expect(
            secret.signature(of: Self.body, id: Self.id, timestamp: 1_614_265_330)
                == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        )
    }

    @Test func `a request has a signature of each secret`() throws {
        let other = try #require(WebhookSecret("whsec_" + Base64.encode([1, 2, 3])))
        let headers = WebhookSecret.headers(
            [try #require(WebhookSecret(Self.secret)), other],
            body: Self.body,
            id: Self.id,
            timestamp: 1_614_265_330
        )
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(headers[0].value == Self.id && headers[1].value == "1614265330")
        let second = other.signature(of: Self.body, id: Self.id, timestamp: 1_614_265_330)
        #expect(headers[2].value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= \(second)")
    }

    @Test(arguments: ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfK", "whsec_MfKQ9r8!", "whsec_AA=="])
    func `a text that is no secret is refused, unless it is short`(text: String) {
        #expect((WebhookSecret(text) == nil) == (text != "whsec_AA=="))
    }
}
