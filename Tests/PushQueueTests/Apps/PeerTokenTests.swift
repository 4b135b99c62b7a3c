import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@testable import ApplePush
@testable import CarillonPushQueue

/// The provider token of a signing key that several databases have.
@Suite struct PeerTokenTests {
    private struct Outage: Error {}

    private enum Content: Equatable {
        case token(ProviderToken?)
        case noKey
        case outage
        /// Has no token, and gets this one before the worker's own arrives.
        case faster(ProviderToken)
    }

    /// What the databases have. The clock of each shows its place, in minutes.
    private final class Databases: Sendable {
        private let contents: Guarded<[Content]>
        private let count: Int

        init(_ contents: Content...) {
            count = contents.count
            self.contents = Guarded(contents)
        }

        var all: [Content] { contents.withLock { $0 } }

        var asks: [CredentialStatements.TokenAsk] {
            (0..<count).map { place in { kept in try self.ask(place, keeping: kept) } }
        }

        private func ask(_ place: Int, keeping kept: ProviderToken?) throws -> (ProviderToken?, now: Int64)? {
            let now = Int64(place * 60)
            return try contents.withLock { contents in
                switch contents[place] {
                case .noKey: return nil
                case .outage: throw Outage()
                case .faster(let token):
                    if kept != nil { contents[place] = .token(token) }
                    return (kept.map { _ in token }, now)
                case .token(let token):
                    contents[place] = .token(token ?? kept)
                    return (token ?? kept, now)
                }
            }
        }
    }

    private static func key() throws -> ProviderTokenKey {
        try ProviderTokenKey(SigningKey.generate(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
    }

    private static func token(_ name: String) -> ProviderToken { ProviderToken(jwt: name, issuedAt: 7) }

    @Test func `a token is minted if no database has one, and all keep it`() async throws {
        let databases = Databases(.token(nil), .token(nil), .token(nil))
        let (token, isMinted) = try await CredentialStatements.providerToken(by: Self.key(), in: databases.asks)
        #expect(isMinted && token.issuedAt == 0)
        #expect(databases.all == [.token(token), .token(token), .token(token)])
    }

    @Test(arguments: 0..<3) func `a token that one database has is kept in the others`(place: Int) async throws {
        var contents = [Content](repeating: .token(nil), count: 3)
        contents[place] = .token(Self.token("theirs"))
        let databases = Databases(contents[0], contents[1], contents[2])
        let (token, isMinted) = try await CredentialStatements.providerToken(by: Self.key(), in: databases.asks)
        #expect(!isMinted && token == Self.token("theirs"))
        #expect(databases.all == Array(repeating: .token(token), count: 3))
    }

    @Test func `the token that was stored first in the first database is kept in all`() async throws {
        let databases = Databases(.faster(Self.token("theirs")), .token(nil))
        let (token, isMinted) = try await CredentialStatements.providerToken(by: Self.key(), in: databases.asks)
        #expect(!isMinted && token == Self.token("theirs"))
        #expect(databases.all == [.token(token), .token(token)])
    }

    @Test func `databases without the key, and those that fail, are left out`() async throws {
        let databases = Databases(.outage, .noKey, .token(nil))
        let (token, isMinted) = try await CredentialStatements.providerToken(by: Self.key(), in: databases.asks)
        #expect(isMinted && token.issuedAt == 120)
        #expect(databases.all == [.outage, .noKey, .token(token)])
    }

    @Test func `without a token, the failure of a database is reported, or that none has the key`() async throws {
        await #expect(throws: Outage.self) {
            _ = try await CredentialStatements.providerToken(by: Self.key(), in: Databases(.noKey, .outage).asks)
        }
        let error = await #expect(throws: PushError.self) {
            _ = try await CredentialStatements.providerToken(by: Self.key(), in: Databases(.noKey).asks)
        }
        #expect(error?.code == .noProviderToken && error?.message.contains("no longer in use") == true)
    }
}
