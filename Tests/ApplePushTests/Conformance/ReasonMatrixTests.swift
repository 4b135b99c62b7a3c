import ApplePush
import Testing

/// What the result says of each reason of HTTP/2.
@Suite(.timeLimit(.minutes(5))) struct ReasonMatrixTests {
    private static let failed: Set = [
        "BadDeviceToken", "DeviceTokenNotForTopic", "ExpiredToken", "MissingDeviceToken", "Unregistered",
    ]
    private static let retried: Set = [
        "BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "BadEnvironmentKeyInToken",
        "ExpiredProviderToken", "IdleTimeout", "InternalServerError", "InvalidProviderToken", "MissingProviderToken",
        "ServiceUnavailable", "Shutdown", "TooManyProviderTokenUpdates", "TooManyRequests", "UnrelatedKeyIdInToken",
    ]

    @Test(arguments: Reason.all.compactMap { $0.reason.name }, [0, 4, 8])
    func `each reason is in the right part of the result, and no token is lost`(name: String, position: Int)
        async throws
    {
        let status = try #require(Reason.all.first { $0.reason.name == name }).status
        let tokens = (0..<9).map { batch(9, digits: 64).token(of: $0) }
        let bad = tokens[position]
        try await TestGateway.withBackend { seen in
            seen.token == bad ? [.answer(status, #"{"reason":"\#(name)"}"#)] : [.answer(200)]
        } test: { _, gateway, backend in
            let apns = try APNs(backend, to: gateway)
            let message = try Message(tokens: tokens, alert: "Hello", topic: "org.example.app")
            let result = try await apns.send(message)
            let retry = result.retry()?.tokens ?? []
            #expect(result.failed.keys.map(\.self) == (Self.failed.contains(name) ? [bad] : []))
            #expect(result.errors.contains { $0.reason == name } != Self.failed.contains(name))
            #expect(retry.contains(bad) == Self.retried.contains(name))
            // A refused credential keeps others from being sent: they are to be retried.
            let delivered = result.pushes.filter(\.isAccepted).map(\.token)
            let ended = Self.retried.contains(name) ? [] : [bad]
            #expect((delivered + retry + ended).sorted() == tokens)
        }
    }
}
