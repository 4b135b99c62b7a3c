import CarillonTLS
import Testing

@Suite struct PKCS12Tests {
    private static func bytes(_ base64: String) throws -> [UInt8] {
        let text = base64.utf8.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "=") }
        return try #require(
            Base64URL.decode(
                text.map {
                    $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0
                }
            )
        )
    }

    @Test(arguments: [
        (KeyFixtures.modernP12, "s3cret"), (KeyFixtures.legacyP12, "s3cret"), (KeyFixtures.openP12, ""),
        (KeyFixtures.bareP12, ""),
    ])
    func `a file gives the certificate and the key in PEM`(file: String, passphrase: String) throws {
        let opened = try PKCS12.open(Self.bytes(file), passphrase: Array(passphrase.utf8))
        let identity = try Identity(certificate: opened.certificatePEM, privateKey: opened.privateKeyPEM)
        #expect(identity.leaf.topics == ["org.example.app"])
    }

    @Test func `the chain is included`() throws {
        let opened = try PKCS12.open(Self.bytes(KeyFixtures.modernP12), passphrase: Array("s3cret".utf8))
        #expect(PEM(Array(opened.certificatePEM.utf8)).blocks.map(\.label) == ["CERTIFICATE", "CERTIFICATE"])
        #expect(try CertificateFacts(pem: opened.certificatePEM).subject == "CN=Fixture,UID=org.example.app")
    }

    @Test(arguments: [KeyFixtures.modernP12, KeyFixtures.legacyP12], ["", "wrong"])
    func `a wrong passphrase is told from other faults`(file: String, passphrase: String) throws {
        let bytes = try Self.bytes(file)
        let error = #expect(throws: TLSError.self) { _ = try PKCS12.open(bytes, passphrase: Array(passphrase.utf8)) }
        #expect(error?.code == .wrongPassphrase)
        #expect(error?.message == "the passphrase does not open the PKCS#12 file")
    }

    @Test func `a file without a key is refused, and so is one of another kind`() throws {
        let keyless = try Self.bytes(KeyFixtures.keylessP12)
        #expect(throws: TLSError.self) { _ = try PKCS12.open(keyless, passphrase: Array("s3cret".utf8)) }
        let error = #expect(throws: TLSError.self) { _ = try PKCS12.open(Array("hello".utf8), passphrase: []) }
        #expect(error?.code == .malformedCertificate)
        #expect(error?.message.hasPrefix("this is not a PKCS#12 file, or it is damaged") == true)
    }

    @Test func `a damaged file is an error, wherever it is damaged`() throws {
        let bytes = try Self.bytes(KeyFixtures.modernP12)
        for index in stride(from: 0, to: bytes.count, by: 37) {
            var damaged = bytes
            damaged[index] ^= 0x55
            // Some bytes carry names only; what counts is that nothing but a sentence comes of the others.
            do throws(TLSError) {
                _ = try PKCS12.open(damaged, passphrase: Array("s3cret".utf8))
            } catch {
                #expect(!error.message.isEmpty)
            }
        }
    }
}
