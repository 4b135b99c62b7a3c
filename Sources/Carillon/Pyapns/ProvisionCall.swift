import CarillonPushQueue

/// The arguments of `provision`.
struct ProvisionCall {
    private static let certificateLine = "BEGIN CERTIFICATE"
    private static let encryptedKeyLines = ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"]
    private static let keyLine = "PRIVATE KEY-----"
    private static let isKeyAlone = XMLRPCFault(
        .refused,
        "This is a key without a certificate. provision takes a certificate with its key; a signing key (.p8) is stored with "
            + "'carillon credential import NAME --file AuthKey.p8 --key-id KEY --team-id TEAM'."
    )

    let app: String
    /// PEM.
    let certificate: String
    let environment: AppSettings.Environment

    init(_ parameters: inout CallParameters, readsFiles: Bool) throws {
        app = try parameters.text("app_id")
        let text = try parameters.text("certificate")
        let environment = try parameters.next("environment")
        // The timeout limited pyapns' own connection to Apple. Here workers connect to Apple.
        parameters.skip()
        try parameters.end()
        guard (1...255).contains(app.utf8.count) else {
            throw XMLRPCFault(.refused, "The argument app_id of provision is the app's name: 1 to 255 bytes.")
        }
        guard case .string(let name) = environment, let known = AppSettings.Environment(rawValue: name) else {
            let got = if case .string(let name) = environment { "'\(name)'" } else { environment.kind }
            throw XMLRPCFault(
                .badEnvironment,
                "The environment is \(AppSettings.Environment.allCases.map(\.rawValue).joined(separator: " or ")), not \(got)."
            )
        }
        self.environment = known
        certificate = text.contains(Self.certificateLine) ? text : try Self.read(text, readsFiles: readsFiles)
        guard Self.encryptedKeyLines.allSatisfy({ !certificate.contains($0) }) else {
            throw XMLRPCFault(
                .refused,
                "The key is encrypted, and provision takes no passphrase: store the credential with 'carillon credential "
                    + "import' and its --passphrase-file, or decrypt the key with 'openssl pkey'."
            )
        }
    }

    /// Reads the file once: its text is stored.
    private static func read(_ path: String, readsFiles: Bool) throws -> String {
        guard !path.contains(keyLine) else { throw isKeyAlone }
        guard readsFiles else {
            throw XMLRPCFault(
                .refused,
                "Pass the certificate as text: the content of the PEM file, with its key. A path would be one on the machine "
                    + "of carillon pyapns, which reads files only if it listens on a loopback address."
            )
        }
        guard path.hasPrefix("/") else {
            throw XMLRPCFault(
                .refused,
                "The certificate is the text of a PEM file, or its absolute path on the machine of carillon pyapns."
            )
        }
        // Opening any other kind of file might block forever.
        guard !SmallFile.exists(path) || SmallFile.isRegular(path) else {
            throw XMLRPCFault(.refused, "Cannot use the file \(path): it is not a regular file.")
        }
        let text = try SmallFile.read(path).text
        guard text.contains(certificateLine) else {
            if text.contains(keyLine) { throw isKeyAlone }
            throw XMLRPCFault(
                .refused,
                "The file \(path) holds no certificate in PEM: it needs -----BEGIN CERTIFICATE----- and the key. "
                    + "'openssl pkcs12 -in FILE.p12 -out FILE.pem -nodes' makes it from a .p12."
            )
        }
        return text
    }
}
