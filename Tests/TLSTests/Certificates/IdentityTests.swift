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

    private static let leaf = KeyFixtures.certificate + "\n"

    private static let good = [
        Form("the key apart", leaf, key: KeyFixtures.key),
        Form("the key in the same text, after", leaf + KeyFixtures.key),
        Form("the key in the same text, before", KeyFixtures.key + "\n" + leaf),
        Form("an empty key apart, the key in the same text", leaf + KeyFixtures.key, key: ""),
        Form("the older form of a key, with its parameters", leaf, key: KeyFixtures.traditionalKey),
        Form("the older form in the same text", leaf + KeyFixtures.traditionalKey),
        Form("an encrypted key", leaf, key: KeyFixtures.encryptedKey, passphrase: "s3cret"),
        Form("an encrypted key in the same text", leaf + KeyFixtures.encryptedKey, passphrase: "s3cret"),
        Form(
            "an encrypted key in the older form",
            leaf,
            key: KeyFixtures.traditionalEncryptedKey,
            passphrase: "s3cret"
        ),
        Form("a key encrypted with 600,000 rounds", leaf, key: KeyFixtures.manyRoundsKey, passphrase: "s3cret"),
        Form("a key encrypted by scrypt", leaf, key: KeyFixtures.scryptKey, passphrase: "s3cret"),
        Form("a passphrase that is not needed", leaf, key: KeyFixtures.key, passphrase: "s3cret"),
        Form("the leaf after its chain", KeyFixtures.root + "\n" + leaf, key: KeyFixtures.key),
        Form("lines that end as on Windows", windows(leaf + KeyFixtures.key)),
        Form("notes between the blocks", "Bag Attributes\n" + leaf + "Key Attributes: none\n" + KeyFixtures.key),
    ]

    private static func windows(_ text: String) -> String {
        text.split(separator: "\n").joined(separator: "\r\n")
    }

    @Test(arguments: good)
    func `an identity is read from`(form: Form) throws {
        let identity = try Identity(certificate: form.certificate, privateKey: form.key, passphrase: form.passphrase)
        #expect(identity.leaf.subject == "CN=Fixture,UID=org.example.app")
        #expect(identity.digest.count == 32)
        _ = try TLSContext.client(identity: identity, trust: .pem(KeyFixtures.root))
    }

    @Test func `digests tell identities apart, whatever form they came in`() throws {
        let apart = try Identity(certificate: Self.leaf, privateKey: KeyFixtures.key)
        let together = try Identity(certificate: Self.leaf + KeyFixtures.encryptedKey, passphrase: "s3cret")
        let withChain = try Identity(certificate: Self.leaf + KeyFixtures.root, privateKey: KeyFixtures.key)
        #expect(apart.digest == together.digest)
        #expect(apart.digest != withChain.digest)
    }

    private static func cut(_ text: String) -> String {
        var lines = text.split(separator: "\n")
        lines.remove(at: lines.count / 2)
        return lines.joined(separator: "\n")
    }

    private static let bad: [(Form, TLSError.Code)] = [
        (Form("no certificate at all", "hello", key: KeyFixtures.key), .malformedCertificate),
        (Form("nothing", ""), .malformedCertificate),
        (Form("a key where the certificate belongs", KeyFixtures.key), .malformedCertificate),
        (Form("a certificate that was cut", cut(KeyFixtures.certificate), key: KeyFixtures.key), .malformedCertificate),
        (
            Form("a beginning without an end", "-----BEGIN CERTIFICATE-----\nMII", key: KeyFixtures.key),
            .malformedCertificate
        ),
        (Form("no key", leaf), .missingKey),
        (Form("a certificate where the key belongs", leaf, key: KeyFixtures.certificate), .malformedKey),
        (Form("a key that was cut", leaf, key: cut(KeyFixtures.rsaKey)), .malformedKey),
        (Form("garbage for a key", leaf, key: "garbage"), .malformedKey),
        (Form("another key", leaf, key: KeyFixtures.rsaKey), .keyMismatch),
        (Form("another key of the same kind", leaf, key: KeyFixtures.p384Key), .keyMismatch),
        (Form("no passphrase", leaf, key: KeyFixtures.encryptedKey), .passphraseNeeded),
        (Form("no passphrase, older form", leaf, key: KeyFixtures.traditionalEncryptedKey), .passphraseNeeded),
        (Form("a wrong passphrase", leaf, key: KeyFixtures.encryptedKey, passphrase: "secret"), .wrongPassphrase),
        (Form("an empty passphrase", leaf, key: KeyFixtures.encryptedKey, passphrase: ""), .wrongPassphrase),
        (
            Form(
                "a wrong passphrase, older form",
                leaf,
                key: KeyFixtures.traditionalEncryptedKey,
                passphrase: "secret"
            ),
            .wrongPassphrase
        ),
        (
            Form(
                "a passphrase of no reasonable length",
                leaf,
                key: KeyFixtures.encryptedKey,
                passphrase: String(repeating: "x", count: 5_000)
            ),
            .wrongPassphrase
        ),
        (
            Form("an encrypted key that was cut", leaf, key: cut(KeyFixtures.encryptedKey), passphrase: "s3cret"),
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
        Form("PBKDF2", leaf, key: KeyFixtures.slowPBKDF2Key), Form("scrypt", leaf, key: KeyFixtures.slowScryptKey),
        Form("the form before PBKDF2", leaf, key: KeyFixtures.slowOldKey),
    ])
    func `a key that takes too long to open is refused at once`(form: Form) {
        var error: TLSError?
        let seconds = Growth.seconds {
            error = #expect(throws: TLSError.self) {
                _ = try Identity(certificate: form.certificate, privateKey: form.key, passphrase: "s3cret")
            }
        }
        #expect(error?.code == .tooCostly, "\(String(describing: error))")
        #expect(error?.message.contains("encrypt it again") == true)
        #expect(seconds < 1)
    }

    /// OpenSSL would go by the second header, which only the passphrase opens.
    @Test func `a key with two headers is refused before either is opened`() {
        let lines = KeyFixtures.encryptedKey.split(separator: "\n")
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
                    privateKey: KeyFixtures.traditionalEncryptedKey,
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
            _ = try Identity(certificate: Self.leaf, privateKey: KeyFixtures.rsaKey)
        }
        #expect(
            mismatch?.message
                == "the private key does not belong to the certificate of CN=Fixture,UID=org.example.app: "
                + "give the key that the certificate was requested with"
        )
        let wrong = #expect(throws: TLSError.self) {
            _ = try Identity(certificate: Self.leaf, privateKey: KeyFixtures.encryptedKey, passphrase: "secret")
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
