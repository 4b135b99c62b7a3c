import CarillonIO
import CarillonTLS
import TestSupport
import Testing

@Suite struct IdentityTests {
    /// Certificate text, key text beside it, passphrase.
    struct Form: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let certificate: String
        var key: String?
        var passphrase: String?

        init(_ description: String, _ certificate: String, key: String? = nil, passphrase: String? = nil) {
            testDescription = description
            self.certificate = certificate
            self.key = key
            self.passphrase = passphrase
        }
    }

    private static let leaf = Fixtures.certificate + "\n"

    private static let good = [
        Form("the key apart", leaf, key: Fixtures.key),
        Form("the key in the same text, after", leaf + Fixtures.key),
        Form("the key in the same text, before", Fixtures.key + "\n" + leaf),
        Form("an empty key apart, the key in the same text", leaf + Fixtures.key, key: ""),
        Form("the older form of a key, with its parameters", leaf, key: Fixtures.traditionalKey),
        Form("the older form in the same text", leaf + Fixtures.traditionalKey),
        Form("an encrypted key", leaf, key: Fixtures.encryptedKey, passphrase: "s3cret"),
        Form("an encrypted key in the same text", leaf + Fixtures.encryptedKey, passphrase: "s3cret"),
        Form(
            "an encrypted key in the older form",
            leaf,
            key: Fixtures.traditionalEncryptedKey,
            passphrase: "s3cret"
        ),
        Form("a key encrypted with 600,000 rounds", leaf, key: Fixtures.manyRoundsKey, passphrase: "s3cret"),
        Form("a key encrypted by scrypt", leaf, key: Fixtures.scryptKey, passphrase: "s3cret"),
        Form("a passphrase that is not needed", leaf, key: Fixtures.key, passphrase: "s3cret"),
        Form("the leaf after its chain", Fixtures.root + "\n" + leaf, key: Fixtures.key),
        Form("lines that end as on Windows", windows(leaf + Fixtures.key)),
        Form("notes between the blocks", "Bag Attributes\n" + leaf + "Key Attributes: none\n" + Fixtures.key),
    ]

    private static func windows(_ text: String) -> String {
        text.split(separator: "\n").joined(separator: "\r\n")
    }

    @Test(arguments: good)
    func `an identity is read from`(form: Form) throws {
        let identity = try Identity(certificate: form.certificate, privateKey: form.key, passphrase: form.passphrase)
        #expect(identity.leaf.subject == "CN=Fixture,UID=org.example.app")
        #expect(identity.digest.count == 32)
        _ = try TLSContext.client(identity: identity, trust: .pem(Fixtures.root))
    }

    @Test func `digests tell identities apart, whatever form they came in`() throws {
        let apart = try Identity(certificate: Self.leaf, privateKey: Fixtures.key)
        let together = try Identity(certificate: Self.leaf + Fixtures.encryptedKey, passphrase: "s3cret")
        let withChain = try Identity(certificate: Self.leaf + Fixtures.root, privateKey: Fixtures.key)
        #expect(apart.digest == together.digest)
        #expect(apart.digest != withChain.digest)
    }

    private static func cut(_ text: String) -> String {
        var lines = text.split(separator: "\n")
        lines.remove(at: lines.count / 2)
        return lines.joined(separator: "\n")
    }

    private static let bad: [(Form, TLSError.Code)] = [
        (Form("no certificate at all", "hello", key: Fixtures.key), .malformedCertificate),
        (Form("nothing", ""), .malformedCertificate),
        (Form("a key where the certificate belongs", Fixtures.key), .malformedCertificate),
        (Form("a certificate that was cut", cut(Fixtures.certificate), key: Fixtures.key), .malformedCertificate),
        (
            Form("a beginning without an end", "-----BEGIN CERTIFICATE-----\nMII", key: Fixtures.key),
            .malformedCertificate
        ),
        (Form("no key", leaf), .missingKey),
        (Form("a certificate where the key belongs", leaf, key: Fixtures.certificate), .malformedKey),
        (Form("a key that was cut", leaf, key: cut(Fixtures.rsaKey)), .malformedKey),
        (Form("garbage for a key", leaf, key: "garbage"), .malformedKey),
        (Form("another key", leaf, key: Fixtures.rsaKey), .keyMismatch),
        (Form("another key of the same kind", leaf, key: Fixtures.p384Key), .keyMismatch),
        (Form("no passphrase", leaf, key: Fixtures.encryptedKey), .passphraseNeeded),
        (Form("no passphrase, older form", leaf, key: Fixtures.traditionalEncryptedKey), .passphraseNeeded),
        (Form("a wrong passphrase", leaf, key: Fixtures.encryptedKey, passphrase: "secret"), .wrongPassphrase),
        (Form("an empty passphrase", leaf, key: Fixtures.encryptedKey, passphrase: ""), .wrongPassphrase),
        (
            Form(
                "a wrong passphrase, older form",
                leaf,
                key: Fixtures.traditionalEncryptedKey,
                passphrase: "secret"
            ),
            .wrongPassphrase
        ),
        (
            Form(
                "a passphrase of no reasonable length",
                leaf,
                key: Fixtures.encryptedKey,
                passphrase: String(repeating: "x", count: 5_000)
            ),
            .wrongPassphrase
        ),
        (
            Form("an encrypted key that was cut", leaf, key: cut(Fixtures.encryptedKey), passphrase: "s3cret"),
            .malformedKey
        ),
    ]

    @Test(arguments: bad)
    func `no identity is read from`(form: Form, code: TLSError.Code) {
        let error = #expect(throws: TLSError.self) {
            _ = try Identity(certificate: form.certificate, privateKey: form.key, passphrase: form.passphrase)
        }
        #expect(error?.code == code, "\(String(describing: error))")
        #expect(error?.message.contains("s3cret") == false)
    }

    /// Whoever wrote the row chose how long opening its key takes, and a worker would stand still for so long.
    @Test(arguments: [
        Form("PBKDF2", leaf, key: Fixtures.slowPBKDF2Key), Form("scrypt", leaf, key: Fixtures.slowScryptKey),
        Form("the form before PBKDF2", leaf, key: Fixtures.slowOldKey),
    ])
    func `a key that takes too long to open is refused at once`(form: Form) {
        let start = MonotonicInstant.now
        let error = #expect(throws: TLSError.self) {
            _ = try Identity(certificate: form.certificate, privateKey: form.key, passphrase: "s3cret")
        }
        #expect(error?.code == .tooCostly, "\(String(describing: error))")
        #expect(error?.message.contains("encrypt it again") == true)
        #expect(MonotonicInstant.now - start < .seconds(1))
    }

    /// OpenSSL would go by the second header, which only the passphrase opens.
    @Test func `a key with two headers is refused before either is opened`() {
        let lines = Fixtures.encryptedKey.split(separator: "\n")
        let header = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF", ""]
        let key = ([String(lines[0])] + header + lines.dropFirst().map(String.init)).joined(separator: "\n")
        let error = #expect(throws: TLSError.self) {
            _ = try Identity(certificate: Self.leaf, privateKey: key, passphrase: "s3cret")
        }
        #expect(error?.code == .malformedKey)
    }

    @Test func `a wrong passphrase is distinguished from other faults, whatever its text`() {
        // One in 256 wrong passphrases leaves sound padding, and what follows then is garbage to the parser.
        for number in 0..<600 {
            let error = #expect(throws: TLSError.self) {
                _ = try Identity(
                    certificate: Self.leaf,
                    privateKey: Fixtures.traditionalEncryptedKey,
                    passphrase: "wrong\(number)"
                )
            }
            #expect(error?.code == .wrongPassphrase, "\(number): \(String(describing: error))")
        }
    }

    @Test func `errors name the fault and the remedy`() {
        let missing = #expect(throws: TLSError.self) { _ = try Identity(certificate: Self.leaf) }
        #expect(missing?.message == "there is no private key: give one beside the certificate, or in the same PEM text")
        let mismatch = #expect(throws: TLSError.self) {
            _ = try Identity(certificate: Self.leaf, privateKey: Fixtures.rsaKey)
        }
        #expect(
            mismatch?.message
                == "the private key does not belong to the certificate of CN=Fixture,UID=org.example.app: "
                + "give the key that the certificate was requested with"
        )
        let wrong = #expect(throws: TLSError.self) {
            _ = try Identity(certificate: Self.leaf, privateKey: Fixtures.encryptedKey, passphrase: "secret")
        }
        #expect(wrong?.message == "the passphrase does not open the private key in the private key text")
    }

    @Test func `a key that OpenSSL considers too small is named, and refused before any connection`() {
        let error = #expect(throws: TLSError.self) { _ = try Identity(certificate: TestKeys.smallRSA) }
        #expect(error?.code == .unsupportedKey)
        #expect(
            error?.message.hasPrefix("the RSA key of 1024 bits of CN=Small,UID=org.example.small cannot be used")
                == true
        )
        #expect(error?.message.hasSuffix("get a certificate for a key of RSA 2048 bits or P-256") == true)
    }
}
