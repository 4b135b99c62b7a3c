import CarillonTLS
import FoundationEssentials
import TestSupport
import Testing

@testable import Carillon

/// Files that are no good are refused before any database is asked.
@Suite struct BadCredentialTests {
    private func refusal(
        _ words: [String],
        status: Carillon.ExitStatus = .configuration,
        files: (TemporaryFolder) throws -> Void
    ) async throws -> String {
        try await TemporaryFolder.with { folder in
            try files(folder)
            let words = words.map { $0.hasPrefix("@") ? folder.file(String($0.dropFirst())) : $0 }
            let run = try await ProgramRun.run(
                ["credential", "import", "shop"] + words,
                environment: ["DATABASE_URL": "postgresql://127.0.0.1:1/none"]
            )
            #expect(run.status == status.code)
            #expect(run.output == "")
            #expect(!run.errors.contains("canary"))
            #expect(!run.errors.contains("PRIVATE KEY-----\n"))
            return run.errors
        }
    }

    @Test func `a file that is not there is named`() async throws {
        let text = try await refusal(["--file", "@cert.pem"]) { _ in }
        #expect(text.contains("cert.pem: there is no such file"))
    }

    @Test func `a file that is no credential is refused with what would be one`() async throws {
        let text = try await refusal(["--file", "@cert.pem"]) { _ = try $0.write("cert.pem", "canary") }
        #expect(text.contains("has no credential") && text.contains("-----BEGIN CERTIFICATE-----"))
    }

    @Test func `a certificate that is cut off is refused`() async throws {
        let text = try await refusal(["--file", "@cert.pem", "--key", "@key.pem"]) { folder in
            let lines = CredentialFixtures.certificate.split(separator: "\n")
            _ = try folder.write("cert.pem", (lines.prefix(4) + lines.suffix(1)).joined(separator: "\n"))
            _ = try folder.write("key.pem", CredentialFixtures.encryptedKey)
        }
        #expect(text.contains("certificate"))
    }

    @Test func `a certificate without its key is refused`() async throws {
        let text = try await refusal(["--file", "@cert.pem"]) {
            _ = try $0.write("cert.pem", CredentialFixtures.certificate)
        }
        #expect(text.contains("no private key") && text.contains("--key"))
    }

    @Test func `a key of another certificate is refused`() async throws {
        let other = try CertificateAuthority(name: "Other").issue(commonName: "other")
        let text = try await refusal(["--file", "@cert.pem", "--key", "@key.pem"]) { folder in
            _ = try folder.write("cert.pem", CredentialFixtures.certificate)
            _ = try folder.write("key.pem", other.privateKeyPEM)
        }
        #expect(text.contains("does not belong to the certificate"))
    }

    @Test(arguments: [nil, "canary-wrong"])
    func `a missing or wrong passphrase is refused, for PEM`(passphrase: String?) async throws {
        let flags = passphrase == nil ? [] : ["--passphrase-file", "@passphrase"]
        let text = try await refusal(["--file", "@cert.pem", "--key", "@key.pem"] + flags) { folder in
            _ = try folder.write("cert.pem", CredentialFixtures.certificate)
            _ = try folder.write("key.pem", CredentialFixtures.encryptedKey)
            if let passphrase { _ = try folder.write("passphrase", passphrase + "\n") }
        }
        #expect(text.contains("passphrase") && text.contains("--passphrase-file"))
    }

    @Test(arguments: [nil, "canary-wrong"])
    func `a missing or wrong passphrase is refused, for a p12`(passphrase: String?) async throws {
        let flags = passphrase == nil ? [] : ["--passphrase-file", "@passphrase"]
        let text = try await refusal(["--file", "@cert.p12"] + flags) { folder in
            try CredentialFixtures.bundle.write(to: URL(filePath: folder.file("cert.p12")))
            if let passphrase { _ = try folder.write("passphrase", passphrase + "\n") }
        }
        #expect(text.contains("passphrase") && text.contains("--passphrase-file"))
    }

    @Test func `a signing key that is not on P-256 is refused`() async throws {
        let text = try await refusal(
            ["--file", "@key.p8", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ"]
        ) { _ = try $0.write("key.p8", CredentialFixtures.wrongCurve) }
        #expect(text.contains("P-256"))
    }

    @Test(arguments: [
        ["--file", "@key.p8"],
        ["--file", "@key.p8", "--key-id", "short", "--team-id", "DEF123GHIJ"],
        ["--file", "@key.p8", "--key-id", "ABC123DEFG"],
        ["--file", "@cert.pem", "--key-id", "ABC123DEFG", "--team-id", "DEF123GHIJ"],
    ])
    func `a signing key needs its identifiers, and nothing else takes them`(words: [String]) async throws {
        let text = try await refusal(words, status: .usage) { folder in
            _ = try folder.write("key.p8", CredentialFixtures.wrongCurve)
            _ = try folder.write("cert.pem", CredentialFixtures.certificate)
        }
        #expect(text.contains("--key-id") || text.contains("--team-id"))
    }
}
