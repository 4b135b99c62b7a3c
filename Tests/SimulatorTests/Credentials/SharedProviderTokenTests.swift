import Testing

@testable import ApplePushSimulator

/// Provider tokens on several connections.
@Suite struct SharedProviderTokenTests {
    private static let then: Int64 = 1_700_000_000

    @Test func `one provider token is good for many connections, and each counts its changes for itself`() throws {
        let provider = try TestProvider()
        var keys = ProviderKeys([], environment: .production, isPedantic: false)
        func refusal(_ issuedAt: Int64, on connection: inout AuthenticationState) -> APNsRefusal? {
            let bytes = Array(provider.authorization(issuedAt: issuedAt).utf8)
            return connection.refusalOfCredential(
                bytes.span,
                isPresent: true,
                now: Double(Self.then + 60),
                keys: &keys
            )
        }
        var connections = (0..<3).map { _ in AuthenticationState(credential: .providerToken, service: .pushes) }
        let shared = provider.authorization(issuedAt: Self.then)
        for index in connections.indices {
            let bytes = Array(shared.utf8)
            let refusal = connections[index].refusalOfCredential(
                bytes.span,
                isPresent: true,
                now: Double(Self.then),
                keys: &keys
            )
            #expect(refusal == nil)
        }
        #expect(keys.acceptedTokens == 1)
        // A minute later there is another one. Only a connection that has had none takes it.
        #expect(refusal(Self.then + 60, on: &connections[0]) == .tooManyProviderTokenUpdates)
        var fresh = AuthenticationState(credential: .providerToken, service: .pushes)
        #expect(refusal(Self.then + 60, on: &fresh) == nil)
    }
}
