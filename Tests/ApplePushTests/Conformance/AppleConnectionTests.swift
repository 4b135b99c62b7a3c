import ApplePush
import ApplePushSimulator
import CarillonIO
import CarillonTLS
import TestSupport
import Testing

/// Provider tokens and the connections that they are bound to, against the simulator.
@Suite struct AppleConnectionTests {
    private static let app = "org.example.app"

    private static func registered(
        _ key: SigningKey,
        keyID: String = "ABCDE12345",
        teamID: String = "TEAM567890",
        topics: [String] = []
    ) throws -> ProviderKey {
        try ProviderKey(pem: key.publicKey.pem, keyID: keyID, teamID: teamID, topics: topics)
    }

    private static func message(_ digits: String = "ab", topic: String = app) throws -> Message {
        try Message(tokens: [String(repeating: digits, count: 32)], alert: "Hello", topic: topic)
    }

    @Test func `provider tokens pass the pedantic checks of a simulator that has their key`() async throws {
        let key = try TestCredential.signingKey()
        try await APNsSimulator.with {
            $0.isPedantic = true
            $0.providerKeys = [try Self.registered(key)]
        } _: { simulator in
            for (signer, reason) in [(key, nil), (try TestCredential.signingKey(), "InvalidProviderToken")] {
                try await withBackend { backend in
                    let credential = try TestCredential.providerToken(signer)
                    let connection = Session(backend: backend).connection(
                        to: simulator.gateway(),
                        credential: credential
                    )
                    let message = try Self.message()
                    let push = try #require(try await APNs(connection).send(message).pushes.first)
                    #expect(push.reason == reason && push.isAccepted == (reason == nil))
                }
            }
        }
    }

    /// A connection belongs to one team, and keys for the whole team do not share one with keys for some topics.
    @Test func `keys of two teams, and keys for a team and for topics, are not mixed on a connection`() async throws {
        let names = [("TEAMKEY001", "TEAM000001"), ("TEAMKEY002", "TEAM000002"), ("NEWSKEY001", "TEAM000001")]
        let keys = try names.map { (key: try TestCredential.signingKey(), keyID: $0.0, teamID: $0.1) }
        try await APNsSimulator.with {
            $0.recordsRequests = true
            $0.bindsTokens = false
            $0.providerKeys = try keys.map {
                try Self.registered(
                    $0.key,
                    keyID: $0.keyID,
                    teamID: $0.teamID,
                    topics: $0.keyID == "NEWSKEY001" ? [Self.app] : []
                )
            }
        } _: { simulator in
            try await withBackend { backend in
                let session = Session(backend: backend)
                let senders = try keys.map {
                    let credential = try TestCredential.providerToken($0.key, keyID: $0.keyID, teamID: $0.teamID)
                    return APNs(session.connection(to: simulator.gateway(), credential: credential))
                }
                let message = try Self.message()
                for apns in senders + senders { #expect(try await apns.send(message).accepted == 1) }
                let connections = await simulator.receivedRequests().map(\.connection)
                #expect(Set(connections).count == 3 && connections.prefix(3) == connections.suffix(3))
            }
        }
    }

    @Test func `a topic that is added to a key is pushed to over a new connection`() async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            $0.topics = ["com.old"]
        } _: { simulator in
            try await withBackend {
                $0.topicBindingAge = .zero
            } _: { backend in
                let credential = try TestCredential.providerToken()
                let apns = APNs(
                    Session(backend: backend).connection(to: simulator.gateway(), credential: credential)
                )
                let old = try Self.message(topic: "com.old")
                let new = try Self.message("cd", topic: "com.new")
                #expect(try await apns.send(old).accepted == 1)
                try await simulator.allow(topic: "com.new")
                #expect(try await apns.send(new).accepted == 1)
                let requests = await simulator.receivedRequests()
                #expect(requests.map(\.status) == [200, 400, 200])
                #expect(requests[1].reason == "TopicDisallowed" && requests[1].apnsID == requests[2].apnsID)
                #expect(requests[0].connection == requests[1].connection)
                #expect(requests[1].connection != requests[2].connection)
            }
        }
    }

    @Test func `a provider token that Apple calls expired is replaced, and its push sent over a new connection`()
        async throws
    {
        try await APNsSimulator.with {
            $0.recordsRequests = true
        } _: { simulator in
            try await withBackend { backend in
                let credential = try TestCredential.providerToken { key, refused in
                    let now = WallClock.seconds
                    let token = key.mint(at: refused == nil ? now - 3_601 : now)
                    return ProviderToken(jwt: token.jwt, issuedAt: token.issuedAt, renewsIn: .seconds(3_000))
                }
                let apns = APNs(
                    Session(backend: backend).connection(to: simulator.gateway(), credential: credential)
                )
                let message = try Self.message()
                #expect(try await apns.send(message).accepted == 1)
                let requests = await simulator.receivedRequests()
                #expect(requests.map(\.reason) == ["ExpiredProviderToken", nil])
                #expect(Set(requests.map(\.connection)).count == 2 && Set(requests.map(\.apnsID)).count == 1)
            }
        }
    }
}
