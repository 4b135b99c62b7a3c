import TestSupport
import Testing

@testable import ApplePush
@testable import CarillonTLS

@Suite struct CredentialTests {
    @Test func `a certificate has its topics and its expiry, and equals another from the same text`() throws {
        let (certificate, key) = try TestCredential.authority.issue(
            commonName: "Push",
            topics: ["org.example.app", "org.example.app.voip"],
            notAfter: 4_000_000_000
        )
        let apart = try Credential(certificate: certificate, privateKey: key)
        let together = try Credential(certificate: key + certificate)
        let bytes = try Credential(certificate: Array(certificate.utf8), privateKey: Array(key.utf8))
        #expect(apart == together)
        #expect(apart == bytes)
        #expect(apart.hashValue == together.hashValue)
        #expect(apart.facts.notAfter == 4_000_000_000)
        #expect(apart.facts.topics == ["org.example.app", "org.example.app.voip"])
        #expect(!apart.facts.isApple)
        #expect(try TestCredential.certificate() != apart)
    }

    @Test func `the topic of a push is that of the certificate, if the certificate contains it`() throws {
        let credential = try TestCredential.certificate(topics: ["org.example.app", "org.example.app.voip"])
        #expect(credential.topic(for: .alert) == "org.example.app")
        #expect(credential.topic(for: .voip) == "org.example.app.voip")
        #expect(credential.topic(for: .widgets) == nil)
        #expect(try TestCredential.providerToken().topic(for: .alert) == nil)
    }

    @Test(arguments: ["", "ABCDE1234", "ABCDE123456", "ABCDE 2345", "ABCDE1234\n", "ÄBCDE1234"])
    func `the identifiers of key and team are ten letters and digits`(text: String) throws {
        let pem = try SigningKey.generate().pem
        for (keyID, teamID) in [(text, "TEAM567890"), ("ABCDE12345", text)] {
            let error = #expect(throws: PushError.self) {
                try Credential(signingKey: pem, keyID: keyID, teamID: teamID)
            }
            #expect(error?.code == .invalidCredential)
            #expect(error?.message.contains("ten") == true)
        }
    }

    @Test func `an invalid credential is an error with a sentence`() throws {
        let (certificate, _) = try TestCredential.authority.issue(commonName: "Push")
        let (_, otherKey) = try TestCredential.authority.issue(commonName: "Other")
        for (text, key) in [("garbage", nil), (certificate, nil), (certificate, otherKey), (certificate, "garbage")] {
            let error = #expect(throws: PushError.self) { try Credential(certificate: text, privateKey: key) }
            #expect(error?.code == .invalidCredential)
            #expect(error?.message.hasSuffix(".") == true)
        }
        #expect(throws: PushError.self) {
            try Credential(signingKey: "garbage", keyID: "ABCDE12345", teamID: "TEAM567890")
        }
    }

    @Test func `a credential that could not be read for lack of memory is not called invalid`() {
        let error = #expect(throws: PushError.self) {
            try Credential("certificate") { throw TLSError.shortage(reading: "the certificate") }
        }
        #expect(error?.code == .exhausted && error?.isRetryable == true)
        #expect(error?.message.hasPrefix("The certificate could not be read: there is not enough memory") == true)
    }

    @Test func `a certificate whose key is too small is an invalid credential, and not the gateway's fault`() {
        let error = #expect(throws: PushError.self) { try Credential(certificate: TestKeys.smallRSA) }
        #expect(error?.code == .invalidCredential)
        #expect(error?.message.contains("the RSA key of 1024 bits of CN=Small") == true)
    }

    @Test func `no secret is in any description`() throws {
        let pem = try SigningKey.generate().pem
        let credential = try Credential(signingKey: pem, keyID: "ABCDE12345", teamID: "TEAM567890")
        let secret = pem.split(separator: "\n")[1]
        var dumped = ""
        dump(credential, to: &dumped)
        let token = ProviderToken(jwt: "secret.secret.secret", issuedAt: 5)
        dump(token, to: &dumped)
        let (certificate, key) = try TestCredential.authority.issue(commonName: "Push")
        dump(try Credential(certificate: certificate, privateKey: key), to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), dumped, "\(token)", String(reflecting: token)] {
            #expect(!text.contains(secret))
            #expect(!text.contains("secret.secret"))
            #expect(!text.contains("PRIVATE KEY"))
        }
        #expect("\(credential)".contains("ABCDE12345"))
    }
}
