import CarillonTLS
import Testing

@Suite struct SigningKeyTests {
    @Test func `a signature is 64 bytes that the public key verifies, and nothing else does`() throws {
        let key = try SigningKey(p8: KeyFixtures.key)
        let text = Array("header.claims".utf8)
        for _ in 0..<200 {  // now and then r or s begins with zeros
            let signature = key.sign(text)
            #expect(signature.count == 64)
            #expect(key.publicKey.isValid(signature: signature, for: text))
        }
        var signature = key.sign(text)
        #expect(!key.publicKey.isValid(signature: signature, for: text + [0]))
        #expect(!(try SigningKey.generate().publicKey.isValid(signature: signature, for: text)))
        signature[10] ^= 1
        #expect(!key.publicKey.isValid(signature: signature, for: text))
        #expect(!key.publicKey.isValid(signature: [], for: text))
        #expect(!key.publicKey.isValid(signature: [UInt8](repeating: 0, count: 64), for: text))
        #expect(!key.publicKey.isValid(signature: [UInt8](repeating: 255, count: 64), for: text))
    }

    /// RFC 7515, appendix A.3: another implementation's signature.
    @Test func `the signature in the standard's example is valid`() throws {
        let key = try VerifyingKey(
            pem: """
                -----BEGIN PUBLIC KEY-----
                MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
                6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
                -----END PUBLIC KEY-----
                """
        )
        let input =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
            + "cnVlfQ"
        let text = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        let signature = try #require(Base64URL.decode(text.utf8))
        #expect(key.isValid(signature: signature, for: Array(input.utf8)))
    }

    @Test(arguments: [KeyFixtures.p384Key, KeyFixtures.ed25519Key, KeyFixtures.rsaKey])
    func `a key of another kind is refused with what to use instead`(key: String) {
        let error = #expect(throws: TLSError.self) { _ = try SigningKey(p8: key) }
        #expect(error?.code == .unsupportedKey)
        #expect(
            error?.message == "the signing key is not an elliptic curve key on P-256: use the .p8 file of an APNs "
                + "authentication key"
        )
    }

    @Test func `a text with a common mistake is refused with what to do`() throws {
        let key = try SigningKey.generate().pem
        let lines = key.split(separator: "\n")
        for (text, words) in [
            (lines.dropLast().joined(separator: "\n"), "the line -----END PRIVATE KEY----- is missing"),
            (lines.joined(separator: #"\n"#), #"contains \n in place of line breaks"#),
            (lines.joined(separator: "  "), "must stand alone"),
            (lines.map { "    " + $0 }.joined(separator: "\n"), "must stand alone"),
            ("/etc/keys/AuthKey_ABC.p8", "looks like the path of a file"),
            ("ABC", "must contain a line -----BEGIN PRIVATE KEY-----"),
            (key.replacing("M", with: "Z"), "it may have been cut or altered"),
        ] {
            let error = #expect(throws: TLSError.self) { _ = try SigningKey(p8: text) }
            #expect(
                error?.code == .malformedKey && error?.message.contains(words) == true,
                "\(error?.message ?? "") \(words)"
            )
        }
        let error = #expect(throws: TLSError.self) { _ = try SigningKey(p8: KeyFixtures.encryptedKey) }
        #expect(error?.message.contains("decrypt it with openssl pkcs8 -topk8 -nocrypt") == true)
    }

    @Test(arguments: [
        ("", TLSError.Code.malformedKey), (KeyFixtures.certificate, .malformedKey),
        (KeyFixtures.encryptedKey, .passphraseNeeded),
    ])
    func `a text that is no plain key is refused`(text: String, code: TLSError.Code) {
        let error = #expect(throws: TLSError.self) { _ = try SigningKey(p8: text) }
        #expect(error?.code == code)
    }

    @Test func `keys can be written as text and read back`() throws {
        let key = try SigningKey.generate()
        let again = try SigningKey(p8: key.pem)
        let signature = again.sign([1, 2, 3])
        for text in [key.pem, key.publicKey.pem] {
            #expect(try VerifyingKey(pem: text).isValid(signature: signature, for: [1, 2, 3]))
        }
    }

    @Test func `a text that is no public key is refused`() {
        #expect(throws: TLSError.self) { _ = try VerifyingKey(pem: "hello") }
        #expect(throws: TLSError.self) { _ = try VerifyingKey(pem: KeyFixtures.rsaKey) }
    }
}
