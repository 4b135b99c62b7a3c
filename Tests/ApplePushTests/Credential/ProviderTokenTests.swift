import CarillonIO
import CarillonTLS
import FoundationEssentials
import Synchronization
import Testing

@testable import ApplePush

@Suite struct ProviderTokenTests {
    private struct Header: Decodable, Equatable {
        var alg: String
        var kid: String
    }

    private struct Claims: Decodable, Equatable {
        var iss: String
        var iat: Int
    }

    private func key(_ signingKey: SigningKey? = nil) throws -> ProviderTokenKey {
        try ProviderTokenKey(signingKey ?? SigningKey.generate(), keyID: "ABCDE12345", teamID: "TEAM567890")
    }

    @Test func `a token is an ES256 JWT with a valid signature`() throws {
        let signingKey = try SigningKey.generate()
        let token = try key(signingKey).mint(at: 1_700_000_000)
        let parts = token.jwt.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let header = try #require(Base64URL.decode(parts[0].utf8))
        let claims = try #require(Base64URL.decode(parts[1].utf8))
        let signature = try #require(Base64URL.decode(parts[2].utf8))
        #expect(try JSONDecoder().decode(Header.self, from: Data(header)) == Header(alg: "ES256", kid: "ABCDE12345"))
        #expect(String(decoding: claims, as: UTF8.self) == #"{"iss":"TEAM567890","iat":1700000000}"#)
        #expect(try JSONDecoder().decode(Claims.self, from: Data(claims)).iat == 1_700_000_000)
        #expect(signature.count == 64)
        #expect(signingKey.publicKey.isValid(signature: signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
        #expect(
            try !SigningKey.generate().publicKey.isValid(
                signature: signature,
                for: Array("\(parts[0]).\(parts[1])".utf8)
            )
        )
        #expect(token.issuedAt == 1_700_000_000)
    }

    /// A clock that tests set.
    private final class Clock: Sendable {
        let now = Atomic<Int64>(1_700_000_000)
        func pass(minutes: Int64) { now.wrappingAdd(minutes * 60, ordering: .relaxed) }
        var read: @Sendable () -> Int64 { { self.now.load(ordering: .relaxed) } }
    }

    @Test func `a token is used for fifty minutes and then replaced`() async throws {
        let clock = Clock()
        let tokens = ProviderTokens(try key(), clock: clock.read)
        let first = try await tokens.current(refusing: nil)
        clock.pass(minutes: 49)
        #expect(try await tokens.current(refusing: nil) == first)
        clock.pass(minutes: 1)
        let second = try await tokens.current(refusing: nil)
        #expect(second != first)
        #expect(second.issuedAt == first.issuedAt + 3000)
    }

    @Test func `a refused token is replaced, but never before twenty minutes`() async throws {
        let clock = Clock()
        let tokens = ProviderTokens(try key(), clock: clock.read)
        let first = try await tokens.current(refusing: nil)
        clock.pass(minutes: 19)
        #expect(try await tokens.current(refusing: first) == first)
        clock.pass(minutes: 1)
        #expect(try await tokens.current(refusing: first) != first)
    }

    @Test func `a token from the future is replaced as soon as a new one would be`() async throws {
        let clock = Clock()
        let tokens = ProviderTokens(try key(), clock: clock.read)
        _ = try await tokens.current(refusing: nil)
        clock.pass(minutes: -120)
        let token = try await tokens.current(refusing: nil)
        #expect(tokens.secondsToRenewal(of: token) <= ProviderToken.renewalAge)
    }

    @Test func `a supplied token is fetched once for all callers`() async throws {
        let clock = Clock()
        let calls = Guarded<[ProviderToken?]>([])
        let tokens = ProviderTokens(
            try self.key(),
            supply: { key, refused in
                calls.withLock { $0.append(refused) }
                return ProviderToken(jwt: "from the store", issuedAt: 1_700_000_000)
            },
            clock: clock.read
        )
        let all = try await withThrowingTaskGroup(of: ProviderToken.self) { group in
            for _ in 0..<20 { group.addTask { try await tokens.current(refusing: nil) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(all.count == 1)
        #expect(calls.withLock { $0.count } == 1)
        let refused = try #require(all.first)
        _ = try await tokens.current(refusing: refused)
        #expect(calls.withLock { $0.last } == refused)
    }

    @Test func `a token that says when it is due does not depend on this machine's clock`() async throws {
        let calls = Atomic<Int>(0)
        let clock = Clock()
        let tokens = ProviderTokens(
            try key(),
            supply: { _, _ in
                let call = calls.wrappingAdd(1, ordering: .relaxed).newValue
                // Old by our clock and valid for long; then no longer valid.
                let left: Duration = call == 1 ? .seconds(1200) : .zero
                return ProviderToken(jwt: "token \(call)", issuedAt: 1_699_000_000, renewsIn: left)
            },
            clock: clock.read
        )
        let first = try await tokens.current(refusing: nil)
        clock.pass(minutes: 500)
        #expect(try await tokens.current(refusing: nil) == first)
        #expect((1198...1200).contains(tokens.secondsToRenewal(of: first)))
        #expect(try await tokens.current(refusing: first).jwt == "token 2")
        #expect(try await tokens.current(refusing: nil).jwt == "token 3")
    }

    @Test func `a supply that fails is an error, and is called again the next time`() async throws {
        struct Broken: Error {}
        let isBroken = Atomic<Bool>(true)
        let tokens = ProviderTokens(
            try self.key(),
            supply: { key, _ in
                if isBroken.load(ordering: .relaxed) { throw Broken() }
                return key.mint(at: 1_700_000_000)
            },
            clock: { 1_700_000_000 }
        )
        let error = await #expect(throws: PushError.self) { try await tokens.current(refusing: nil) }
        #expect(error?.code == .noProviderToken)
        #expect(error?.underlying is Broken)
        isBroken.store(false, ordering: .relaxed)
        _ = try await tokens.current(refusing: nil)
    }
}
