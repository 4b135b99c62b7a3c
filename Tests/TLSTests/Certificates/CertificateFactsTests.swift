import Testing

@testable import CarillonTLS

@Suite struct CertificateFactsTests {
    @Test func `all fields that the authority writes are read`() throws {
        let authority = try CertificateAuthority(name: "Test Root")
        let topics = ["org.example.app", "org.example.app.voip", "org.example.app.complication"]
        let issued = try authority.issue(
            commonName: "Apple Push Services: org.example.app",
            topics: topics,
            environments: .sandbox,
            notBefore: 1_700_000_000,
            notAfter: 1_800_000_000
        )
        let facts = try CertificateFacts(pem: issued.certificatePEM)
        #expect(facts.subject == "CN=Apple Push Services: org.example.app,UID=org.example.app")
        #expect(facts.issuer == "CN=Test Root,O=Carillon")
        #expect(facts.notBefore == 1_700_000_000)
        #expect(facts.notAfter == 1_800_000_000)
        #expect(facts.topics == topics)
        #expect(facts.environments == .sandbox)
        #expect(!facts.isApple)
        #expect(facts.isForPushes)
    }

    @Test func `a certificate for a server has no topics`() throws {
        let authority = try CertificateAuthority(name: "Test Root")
        let issued = try authority.issue(commonName: "localhost", subjectAlternativeNames: ["localhost", "127.0.0.1"])
        let facts = try CertificateFacts(pem: issued.certificatePEM)
        #expect(facts.topics.isEmpty)
        #expect(facts.environments.isEmpty)
        #expect(!facts.isForPushes)
    }

    @Test func `one extension of Apple's is enough for a push certificate, and a user ID is not`() throws {
        for (identifier, isForPushes) in [
            (AppleExtensions.sandbox, true), (AppleExtensions.production, true), (AppleExtensions.topics[0], true),
            (AppleExtensions.topics[1], true), ("1.2.840.113635.100.6.1.16", false),
        ] {
            let key = try Key.generate()
            let builder = try CertificateBuilder(publicKey: key)
            builder.setSubject([(458, "org.example.app")])  // the user ID
            builder.setValidity(from: 1_700_000_000, to: 1_800_000_000)
            builder.add(identifier, [5, 0])
            let facts = CertificateFacts(try builder.signed(by: nil, key))
            #expect(facts.topics == ["org.example.app"])
            #expect(facts.isForPushes == isForPushes, "\(identifier)")
        }
    }

    @Test func `names are readable in any script`() throws {
        let issued = try CertificateAuthority(name: "Wurzel für Prüfungen").issue(commonName: "例え, Inc.")
        let facts = try CertificateFacts(pem: issued.certificatePEM)
        #expect(facts.subject == "CN=例え\\, Inc.")
        #expect(facts.issuer == "CN=Wurzel für Prüfungen,O=Carillon")
    }

    @Test func `topics are found in both shapes of the extension`() {
        let flat = AppleExtensions.topicsValue(["org.example.app", "org.example.app.voip"])
        #expect(AppleExtensions.parseTopics(flat) == ["org.example.app", "org.example.app.voip"])

        func pair(_ topic: String) -> [UInt8] {
            let kinds = DER.element(DER.sequence, DER.element(DER.utf8String, Array("app".utf8)))
            return DER.element(DER.sequence, DER.element(DER.utf8String, Array(topic.utf8)) + kinds)
        }
        let paired = DER.element(DER.sequence, pair("org.example.a") + pair("org.example.b"))
        #expect(AppleExtensions.parseTopics(paired) == ["org.example.a", "org.example.b"])
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `the parser never reads out of bounds, whatever the bytes`(seed: UInt64) {
        var state = seed
        func random() -> UInt8 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
        let good = AppleExtensions.topicsValue(["org.example.app", String(repeating: "x", count: 300)])
        for _ in 0..<5_000 {
            var bytes = good
            for _ in 0..<4 { bytes[Int(random()) % bytes.count] = random() }
            _ = AppleExtensions.parseTopics(Array(bytes.prefix(Int(random()) * 2)))
        }
        #expect(AppleExtensions.parseTopics([]) == [])
        #expect(AppleExtensions.parseTopics([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]) == [])
    }
}
