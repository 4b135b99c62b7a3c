import CarillonTLS
import Testing

@testable import ApplePushSimulator

@Suite struct AuthenticationStateTests {
    private static let now = 1_700_000_000.0
    private static let then: Int64 = 1_700_000_000

    /// The refusal of each authorization, in order on one connection, at seconds after `now`.
    private func outcomes(
        _ requests: [(String?, after: Double)],
        keys: [ProviderKey] = [],
        environment: SimulatorConfiguration.Environment = .production,
        isPedantic: Bool = false
    ) -> [APNsRefusal?] {
        var connection = AuthenticationState(credential: .providerToken, service: .pushes)
        var known = ProviderKeys(keys, environment: environment, isPedantic: isPedantic)
        return requests.map { text, after in
            let bytes = Array((text ?? "").utf8)
            let refusal = connection.refusalOfCredential(
                bytes.span,
                isPresent: text != nil,
                now: Self.now + after,
                keys: &known
            )
            // Other tests check which detail it is.
            if refusal == .derSignature || refusal == .quotedIssueTime { return refusal }
            return refusal?.reason?.description == "InvalidProviderToken" ? .invalidProviderToken : refusal
        }
    }

    @Test func `each fault of a provider token has a refusal of its own`() throws {
        let provider = try TestProvider(keyID: "K", teamID: "T")
        let good = provider.authorization(issuedAt: Self.then)
        let keys = ProviderKeys([try provider.registered()], environment: .production, isPedantic: false)
        func refusal(_ text: String, keys: ProviderKeys = keys, after earlier: String? = nil) -> APNsRefusal? {
            var connection = AuthenticationState(credential: .providerToken, service: .pushes)
            var keys = keys
            var last: APNsRefusal?
            for text in [earlier, text].compactMap(\.self) {
                let bytes = Array(text.utf8)
                last = connection.refusalOfCredential(bytes.span, isPresent: true, now: Self.now, keys: &keys)
            }
            return last
        }
        func token(_ header: String, _ claims: String) -> String {
            provider.authorization(header: header, claims: claims)
        }
        let (header, claims) = (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1700000000}"#)
        #expect(refusal(good) == nil)
        #expect(refusal("bearer abc") == .malformedToken)
        #expect(refusal(token("[]", claims)) == .malformedToken)
        #expect(refusal(good + "==") == .paddedToken)
        #expect(refusal(token(#"{"alg":"HS256","kid":"K"}"#, claims)) == .tokenAlgorithm)
        #expect(refusal(token(#"{"alg":"ES256"}"#, claims)) == .tokenWithoutKeyID)
        #expect(refusal(token(header, #"{"iat":1700000000}"#)) == .tokenWithoutTeamID)
        #expect(refusal(token(header, #"{"iss":"T"}"#)) == .tokenWithoutTime)
        #expect(refusal(token(header, #"{"iss":"T","iat":1700000000000}"#)) == .tokenInMilliseconds)
        #expect(refusal(token(header, #"{"iss":"T","iat":1700000061}"#)) == .tokenFromFuture)
        let stranger = try TestProvider(keyID: "K", teamID: "T").authorization(issuedAt: Self.then)
        #expect(refusal(stranger) == .tokenSignature)
        let other = try TestProvider(keyID: "L", teamID: "T").authorization(issuedAt: Self.then)
        #expect(refusal(other) == .unknownKey)
        #expect(refusal(token(header, #"{"iss":"U","iat":1700000000}"#)) == .unknownTeam)
        let learning = ProviderKeys([], environment: .production, isPedantic: false)
        #expect(refusal(token(header, #"{"iss":"U","iat":1700000000}"#), keys: learning, after: good) == .keyTaken)
        let elsewhere = try TestProvider(keyID: "L", teamID: "U").authorization(issuedAt: Self.then)
        #expect(refusal(elsewhere, keys: learning, after: good) == .otherTeam)
    }

    @Test func `the detail names the fault of a provider token`() throws {
        let provider = try TestProvider(keyID: "K", teamID: "T")
        func detail(_ header: String, _ claims: String) throws -> String {
            try detailOfToken(provider.authorization(header: header, claims: claims))
        }
        func detailOfToken(_ text: String) throws -> String {
            let bytes = Array(text.utf8)
            let error = #expect(throws: APNsRefusal.self) { try PresentedToken(authorization: bytes.span) }
            return try #require(error?.detail)
        }
        let (header, claims) = (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1700000000}"#)
        #expect(try detail(#"{"alg":"ES256","kid":123}"#, claims).contains("no kid that is a string"))
        #expect(try detail(#"{"alg":256,"kid":"K"}"#, claims).contains("\"alg\":\"ES256\""))
        #expect(try detail(header, #"{"iss":5,"iat":1700000000}"#).contains("no iss that is a string"))
        for time in ["true", "[]", "\"now\"", "1" + String(repeating: "0", count: 400)] {
            #expect(try detail(header, #"{"iss":"T","iat":\#(time)}"#).contains("no iat that is a number"), "\(time)")
        }
        let good = provider.authorization(issuedAt: Self.then)
        let parts = good.split(separator: ".")
        #expect(try detailOfToken("\(parts[0]).\(parts[1]).ab+/").contains("+ or /"))
        let long = Base64URL.encode([UInt8](repeating: 7, count: 96))
        #expect(try detailOfToken("\(parts[0]).\(parts[1]).\(long)").contains("64 bytes"))
    }

    @Test func `the detail of a taken kid names both causes`() {
        #expect(APNsRefusal.keyTaken.detail.contains("signature"))
        #expect(APNsRefusal.keyTaken.detail.contains("--file"))
    }

    @Test func `every refusal has a detail of its own`() {
        let details = APNsRefusal.allCases.map(\.detail)
        #expect(details.allSatisfy { $0.hasSuffix(".") })
        #expect(Set(details).count == details.count)
    }

    @Test func `a provider token is accepted for an hour`() throws {
        let provider = try TestProvider()
        let token = provider.authorization(issuedAt: Self.then)
        for keys in [[], [try provider.registered()]] {
            #expect(
                outcomes([(token, 0), (token, 3599), (token, 3600)], keys: keys) == [nil, nil, .expiredProviderToken]
            )
        }
    }

    @Test func `the scheme is written in any case`() throws {
        let provider = try TestProvider()
        let token = provider.authorization(issuedAt: Self.then)
        #expect(outcomes([("Bearer" + token.dropFirst(6), 0)]) == [nil])
    }

    @Test func `a request without a provider token is refused`() {
        #expect(
            outcomes([(nil, 0), ("", 0), ("bearer", 0), ("bearer ", 0), ("basic eHg6eHg", 0)]).allSatisfy {
                $0 == .missingProviderToken
            }
        )
    }

    @Test(arguments: [
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":"now"}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":"1700000061"}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":"inf"}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":true}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T"}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iat":1700000000}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"","iat":1700000000}"#),
        (#"{"alg":"ES256","kid":""}"#, #"{"iss":"T","iat":1700000000}"#),
        (#"{"alg":"ES256"}"#, #"{"iss":"T","iat":1700000000}"#),
        (#"{"alg":"ES256","kid":7}"#, #"{"iss":"T","iat":1700000000}"#),
        (#"{"alg":"HS256","kid":"K"}"#, #"{"iss":"T","iat":1700000000}"#),
        (#"{"alg":"none","kid":"K"}"#, #"{"iss":"T","iat":1700000000}"#),
        (#"{"alg":"ES256","kid":"K""#, #"{"iss":"T","iat":1700000000}"#),
        (#"{"alg":"ES256","kid":"K"}"#, "null"),
        // Read as seconds, milliseconds are far in the future.
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1700000000000}"#),
        (#"{"alg":"ES256","kid":"K"}"#, #"{"iss":"T","iat":1700000061}"#),
    ])
    func `a provider token of another form is refused although its signature is right`(header: String, claims: String)
        throws
    {
        let provider = try TestProvider(keyID: "K", teamID: "T")
        let token = provider.authorization(header: header, claims: claims)
        #expect(outcomes([(token, 0)]) == [.invalidProviderToken])
    }

    @Test func `a provider token that is not a JWT is refused`() throws {
        let good = try TestProvider().authorization(issuedAt: Self.then)
        for bad in [
            "bearer x", "bearer a.b", "bearer a.b.c.d", good + "x", String(good.dropLast(2)), good + " x", good + "=",
        ] {
            #expect(outcomes([(bad, 0)]) == [.invalidProviderToken], "\(bad)")
        }
    }

    @Test func `a registered key verifies the signature`() throws {
        let provider = try TestProvider()
        let forger = try TestProvider()
        let keys = [try provider.registered()]
        let good = provider.authorization(issuedAt: Self.then)
        let forged = forger.authorization(issuedAt: Self.then)
        #expect(outcomes([(forged, 0), (good, 0)], keys: keys) == [.invalidProviderToken, nil])
        // The public key is enough.
        let half = try ProviderKey(pem: provider.key.publicKey.pem, keyID: provider.keyID, teamID: provider.teamID)
        #expect(outcomes([(forged, 0), (good, 0)], keys: [half]) == [.invalidProviderToken, nil])
    }

    @Test func `with registered keys others are refused`() throws {
        let provider = try TestProvider()
        let keys = [try provider.registered()]
        var other = provider
        other.keyID = "OTHER12345"
        #expect(outcomes([(other.authorization(issuedAt: Self.then), 0)], keys: keys) == [.invalidProviderToken])
        other = provider
        other.teamID = "OTHER12345"
        #expect(outcomes([(other.authorization(issuedAt: Self.then), 0)], keys: keys) == [.invalidProviderToken])
    }

    @Test func `a key for the other environment is refused`() throws {
        let provider = try TestProvider()
        let token = provider.authorization(issuedAt: Self.then)
        let keys = [try provider.registered(environment: .sandbox)]
        #expect(outcomes([(token, 0)], keys: keys) == [.badEnvironmentKeyIDInToken])
        #expect(outcomes([(token, 0)], keys: keys, environment: .sandbox) == [nil])
    }

    @Test func `an unregistered key is learnt from its signatures`() throws {
        let provider = try TestProvider()
        let forger = try TestProvider()
        var keys = ProviderKeys([], environment: .production, isPedantic: false)
        func believes(_ provider: TestProvider, at time: Int64) -> Bool {
            let bytes = Array(provider.authorization(issuedAt: time).utf8)
            do throws(APNsRefusal) {
                try keys.verify(PresentedToken(authorization: bytes.span))
                return true
            } catch {
                return false
            }
        }
        #expect(believes(provider, at: Self.then))
        #expect(!believes(forger, at: Self.then + 1))
        for more in 2..<10 { #expect(believes(provider, at: Self.then + Int64(more))) }
        #expect(!believes(forger, at: Self.then + 10))
        var elsewhere = provider
        elsewhere.teamID = "OTHER12345"
        #expect(!believes(elsewhere, at: Self.then + 11))
        #expect(keys.acceptedTokens == 9)
    }

    @Test func `a DER signature is accepted as at Apple, and refused by pedantic checks`() throws {
        let provider = try TestProvider()
        for keys in [[], [try provider.registered()]] {
            let tokens = (0..<20).map {
                (provider.appleSample(issuedAt: Self.then + 1200 * $0), after: Double(1200 * $0))
            }
            #expect(outcomes(tokens, keys: keys).allSatisfy { $0 == nil })
            let pedantic = outcomes(tokens, keys: keys, isPedantic: true)
            #expect(pedantic.allSatisfy { $0 == .derSignature })
        }
        let forged = try TestProvider().appleSample(issuedAt: Self.then)
        #expect(outcomes([(forged, 0)], keys: [try provider.registered()]) == [.invalidProviderToken])
    }

    @Test func `an iat in quotes is accepted as at Apple, and refused by pedantic checks`() throws {
        let provider = try TestProvider(keyID: "K", teamID: "T")
        let token = provider.authorization(
            header: #"{"alg":"ES256","kid":"K"}"#,
            claims: #"{"iss":"T","iat":"1700000000"}"#
        )
        #expect(outcomes([(token, 0), (token, 3599), (token, 3600)]) == [nil, nil, .expiredProviderToken])
        #expect(outcomes([(token, 0)], isPedantic: true) == [.quotedIssueTime])
        let good = provider.authorization(issuedAt: Self.then)
        #expect(outcomes([(good, 0)], isPedantic: true) == [nil])
    }

    @Test func `a signature in another form is refused`() throws {
        let provider = try TestProvider()
        let good = provider.authorization(issuedAt: Self.then).split(separator: ".")
        let zero = [good[0], good[1], Base64URL.encode([UInt8](repeating: 0, count: 64))[...]].joined(separator: ".")
        #expect(outcomes([(zero, 0)]) == [.invalidProviderToken])
        #expect(outcomes([(zero, 0)], keys: [try provider.registered()]) == [.invalidProviderToken])
        // Long enough for DER, but not DER.
        let der = [good[0], good[1], Base64URL.encode([UInt8](repeating: 1, count: 71))[...]].joined(separator: ".")
        #expect(outcomes([(der, 0)]) == [.invalidProviderToken])
    }

    @Test func `a provider token may change after twenty minutes`() throws {
        let provider = try TestProvider()
        func token(_ minutes: Int64) -> String { provider.authorization(issuedAt: Self.then + minutes * 60) }
        let (first, second, third) = (token(0), token(50), token(100))
        #expect(outcomes([(first, 0), (second, 3000), (second, 3001), (third, 6000)]) == [nil, nil, nil, nil])
    }

    @Test func `a provider token that changes too often is refused, and the old one stays`() throws {
        let provider = try TestProvider()
        let first = provider.authorization(issuedAt: Self.then)
        let soon = provider.authorization(issuedAt: Self.then + 1199)
        let late = provider.authorization(issuedAt: Self.then + 1200)
        let again = provider.authorization(issuedAt: Self.then)
        let outcomes = outcomes([
            (first, 0), (soon, 1199), (again, 1199), (first, 1199), (late, 1200), (first, 1300), (late, 1300),
        ])
        let tooMany = APNsRefusal.tooManyProviderTokenUpdates
        #expect(outcomes == [nil, tooMany, tooMany, nil, nil, tooMany, nil])
    }

    @Test func `a connection belongs to the team and the key of its first push`() throws {
        let provider = try TestProvider()
        let first = provider.authorization(issuedAt: Self.then)
        let otherTeam = try TestProvider(keyID: "OTHERKEY00", teamID: "OTHERTEAM0").authorization(issuedAt: Self.then)
        let otherKey = try TestProvider(keyID: "OTHERKEY01").authorization(issuedAt: Self.then)
        #expect(
            outcomes([(first, 0), (otherTeam, 0), (otherKey, 0), (first, 0)])
                == [nil, .invalidProviderToken, .unrelatedKeyIDInToken, nil]
        )
    }

    @Test func `a connection takes provider tokens of related keys, and of no others`() throws {
        let team = try TestProvider(keyID: "TEAMKEY001")
        let otherTeamKey = try TestProvider(keyID: "TEAMKEY002")
        let news = try TestProvider(keyID: "NEWSKEY001")
        let newsAndMail = try TestProvider(keyID: "NEWSMAIL01")
        let mail = try TestProvider(keyID: "MAILKEY001")
        let keys = [
            try team.registered(), try otherTeamKey.registered(), try news.registered(topics: ["com.news"]),
            try newsAndMail.registered(topics: ["com.news", "com.mail"]), try mail.registered(topics: ["com.mail"]),
        ]
        func refusal(of second: TestProvider, after first: TestProvider) -> APNsRefusal? {
            let tokens = [first, second].map { ($0.authorization(issuedAt: Self.then), after: 0.0) }
            return outcomes(tokens, keys: keys).last ?? nil
        }
        #expect(refusal(of: otherTeamKey, after: team) == nil)
        #expect(refusal(of: news, after: team) == .unrelatedKeyIDInToken)
        #expect(refusal(of: team, after: news) == .unrelatedKeyIDInToken)
        #expect(refusal(of: newsAndMail, after: news) == nil)
        #expect(refusal(of: mail, after: news) == .unrelatedKeyIDInToken)
    }

    @Test func `related keys change in turns, and each keeps its twenty minutes`() throws {
        let (one, other) = (try TestProvider(keyID: "TEAMKEY001"), try TestProvider(keyID: "TEAMKEY002"))
        let keys = [try one.registered(), try other.registered()]
        let (first, second) = (one.authorization(issuedAt: Self.then), other.authorization(issuedAt: Self.then))
        let soon = one.authorization(issuedAt: Self.then + 600)
        #expect(
            outcomes([(first, 0), (second, 1), (first, 2), (second, 3), (soon, 600)], keys: keys)
                == [nil, nil, nil, nil, .tooManyProviderTokenUpdates]
        )
    }

    @Test func `a connection is trusted after its first good token`() throws {
        let provider = try TestProvider()
        var connection = AuthenticationState(credential: .providerToken, service: .pushes)
        var keys = ProviderKeys([], environment: .production, isPedantic: false)
        #expect(!connection.isTrusted)
        for (text, isTrusted) in [("bearer x", false), (provider.authorization(issuedAt: Self.then), true)] {
            let bytes = Array(text.utf8)
            _ = connection.refusalOfCredential(bytes.span, isPresent: true, now: Self.now, keys: &keys)
            #expect(connection.isTrusted == isTrusted)
        }
        #expect(AuthenticationState(credential: .certificate(.init(topics: [])), service: .pushes).isTrusted)
    }

    @Test func `with a client certificate the provider token is ignored`() {
        var connection = AuthenticationState(credential: .certificate(.init(topics: [])), service: .pushes)
        var keys = ProviderKeys([], environment: .production, isPedantic: false)
        let bytes = Array("bearer nonsense".utf8)
        #expect(connection.refusalOfCredential(bytes.span, isPresent: true, now: Self.now, keys: &keys) == nil)
    }

    @Test func `a certificate's beginning and environments decide`() throws {
        let authority = try CertificateAuthority(name: "Test")
        let now = Int64(1_700_000_000)
        func refusal(
            _ environments: CertificateFacts.Environments,
            from start: Int64 = now - 10,
            to end: Int64 = now + 10,
            in environment: SimulatorConfiguration.Environment = .production
        ) throws -> APNsRefusal? {
            let issued = try authority.issue(
                commonName: "c",
                topics: ["com.example.app"],
                environments: environments,
                notBefore: start,
                notAfter: end
            )
            let facts = try CertificateFacts(pem: issued.certificatePEM)
            guard case .certificate(let certificate) = ClientCredential(facts, environment: environment, now: now)
            else {
                Issue.record("a certificate is a certificate")
                return nil
            }
            #expect(certificate.topics == [Array("com.example.app".utf8)])
            return certificate.refusal
        }
        #expect(try refusal([.production, .sandbox]) == nil)
        #expect(try refusal([]) == nil)
        #expect(try refusal(.production, from: now + 1) == .badCertificate)
        #expect(try refusal(.sandbox) == .badCertificateEnvironment)
        #expect(try refusal(.sandbox, in: .sandbox) == nil)
        #expect(try refusal(.production, in: .sandbox) == .badCertificateEnvironment)
    }

    @Test func `a text that is not a key is refused, and not quoted`() throws {
        let secret = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMG\n-----END PRIVATE KEY-----\n"
        let error = #expect(throws: SimulatorError.self) {
            try ProviderKey(pem: secret, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        }
        #expect(error?.code == .badKey)
        #expect(error?.message.contains("MIGHAgEAMBMG") == false)
    }
}
