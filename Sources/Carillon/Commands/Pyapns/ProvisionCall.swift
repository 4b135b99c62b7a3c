/// The arguments of `provision`.
struct ProvisionCall {
    private static let environments = ["production", "sandbox"]

    let app: String
    /// PEM.
    let certificate: String
    let environment: String

    init(_ parameters: inout CallParameters, readsFiles: Bool) throws {
        app = try parameters.text("app_id")
        let text = try parameters.text("certificate")
        environment = try parameters.text("environment")
        // It limited pyapns' connection to Apple, which is the workers' now.
        try parameters.skipNumber("timeout")
        try parameters.end()
        guard Self.environments.contains(environment) else {
            throw XMLRPCFault(
                .badEnvironment,
                "The environment is \(Self.environments.joined(separator: " or ")), not '\(environment)'."
            )
        }
        certificate = text.contains("BEGIN CERTIFICATE") ? text : try Self.read(text, readsFiles: readsFiles)
    }

    /// Once: what is stored is the text.
    private static func read(_ path: String, readsFiles: Bool) throws -> String {
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
        // Opening anything else may never end.
        guard !SmallFile.exists(path) || SmallFile.isRegular(path) else {
            throw XMLRPCFault(.refused, "Cannot use the file \(path): it is not a regular file.")
        }
        let text = try SmallFile.read(path).text
        guard text.contains("BEGIN CERTIFICATE") else {
            throw XMLRPCFault(
                .refused,
                "The file \(path) holds no certificate in PEM: it needs -----BEGIN CERTIFICATE----- and the key. "
                    + "'openssl pkcs12 -in FILE.p12 -out FILE.pem -nodes' makes it from a .p12."
            )
        }
        return text
    }
}
