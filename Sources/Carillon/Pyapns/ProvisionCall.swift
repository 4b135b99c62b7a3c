import CarillonPushQueue

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

    init(_ parameters: inout CallParameters, folder: String?) throws {
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
        // Bytes, because Swift needs quadratic time to find a text behind a row of flags.
        certificate = text.utf8.contains(Self.certificateLine.utf8) ? text : try Self.read(text, in: folder)
        guard Self.encryptedKeyLines.allSatisfy({ !certificate.utf8.contains($0.utf8) }) else {
            throw XMLRPCFault(
                .refused,
                "The key is encrypted, and provision takes no passphrase: store the credential with 'carillon credential "
                    + "import' and its --passphrase-file, or decrypt the key with 'openssl pkey'."
            )
        }
    }

    /// Reads the file once: its text is stored. Every failure is the same fault, so that nobody learns from it which files there
    /// are, or what they hold.
    private static func read(_ path: String, in folder: String?) throws -> String {
        guard !path.utf8.contains(keyLine.utf8) else { throw isKeyAlone }
        guard let folder = folder.flatMap(SmallFile.resolved), path.hasPrefix("/"), let file = SmallFile.resolved(path),
            let text = try? SmallFile.read(file, in: folder).text, text.contains(certificateLine)
        else {
            throw XMLRPCFault(
                .refused,
                "The certificate is the text of a PEM file, with its key. A path is read only if it is that of such a file in the "
                    + "folder that 'carillon pyapns' was given with --certificate-folder; this one cannot be read."
            )
        }
        return text
    }
}
