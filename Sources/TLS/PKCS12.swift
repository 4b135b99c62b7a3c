import COpenSSL
import IO

/// Files as Keychain and other programs export them: certificate, chain and key under one passphrase. Opened once, at
/// import; what is kept afterwards is PEM.
package enum PKCS12 {
    /// The certificate and its chain, and the key, which is not encrypted any more.
    package static func open(
        _ bytes: [UInt8],
        passphrase: [UInt8] = []
    ) throws(TLSError) -> (certificatePEM: String, privateKeyPEM: String) {
        ERR_clear_error()
        guard let bundle = MemoryBIO.reading(bytes[...], { d2i_PKCS12_bio($0, nil) }) else {
            let reason = OpenSSLErrors.take().text
            throw TLSError(.malformedCertificate, "this is not a PKCS#12 file, or it is damaged (\(reason))")
        }
        defer { PKCS12_free(bundle) }
        var secret = passphrase + [0]  // a C string, as OpenSSL wants it
        defer { secret.wipe() }

        let contents: Contents
        switch self.parse(bundle, secret) {
        case .success(let opened):
            contents = opened
        case .failure(let errors) where errors.isOfOldAlgorithm:
            try self.loadOldAlgorithms()
            contents = try self.parse(bundle, secret).mapError(Self.refusal).get()
        case .failure(let errors):
            throw self.refusal(errors)
        }
        guard let leaf = contents.leaf else {
            throw TLSError(.malformedCertificate, "the PKCS#12 file holds no certificate: export it with its key again")
        }
        guard let key = contents.key else {
            throw TLSError(
                .missingKey,
                "the PKCS#12 file holds no private key: export the certificate together with its key"
            )
        }
        return (([leaf] + contents.chain).map(\.pem).joined(), key.privatePEM)
    }

    private struct Contents {
        let leaf: Certificate?
        let chain: [Certificate]
        let key: Key?
    }

    private struct Failure: Error {
        let errors: OpenSSLErrors

        /// RC2 of 40 bits, above all: what Keychain still writes, and OpenSSL 3 knows only when asked to.
        var isOfOldAlgorithm: Bool {
            self.errors.contains(library: ERR_LIB_EVP, reason: CInt(ERR_R_UNSUPPORTED))
                || self.errors.contains(library: ERR_LIB_EVP, reason: EVP_R_UNSUPPORTED_ALGORITHM)
        }
    }

    private static func parse(_ bundle: OpaquePointer, _ secret: [UInt8]) -> Swift::Result<Contents, Failure> {
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var chain: OpaquePointer?
        ERR_clear_error()
        let result = secret.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { PKCS12_parse(bundle, $0.baseAddress, &key, &leaf, &chain) }
        }
        guard result == 1 else { return .failure(Failure(errors: .take())) }
        defer { COpenSSL_sk_X509_pop_free(chain) }
        var above: [Certificate] = []
        for index in 0..<max(0, COpenSSL_sk_X509_num(chain)) {
            guard let certificate = COpenSSL_sk_X509_value(chain, index) else { continue }
            X509_up_ref(certificate)
            above.append(Certificate(owning: certificate))
        }
        return .success(
            Contents(
                leaf: leaf.map { Certificate(owning: $0) },
                chain: above,
                key: key.map { Key(owning: $0) }
            )
        )
    }

    private static func refusal(_ failure: Failure) -> TLSError {
        if failure.errors.contains(library: ERR_LIB_PKCS12, reason: PKCS12_R_MAC_VERIFY_FAILURE) {
            return TLSError(.wrongPassphrase, "the passphrase does not open the PKCS#12 file")
        }
        return TLSError(
            .malformedCertificate,
            "the PKCS#12 file cannot be opened (\(failure.errors.text)): export it again"
        )
    }

    /// Once in a process, and only where such a file asks for it. With another provider loaded by hand the default one
    /// is not loaded by itself any more, so it is asked for too.
    private static let oldAlgorithms = Guarded<[OpaquePointer]>([])

    private static func loadOldAlgorithms() throws(TLSError) {
        let isLoaded = self.oldAlgorithms.withLock { providers in
            guard providers.isEmpty else { return true }
            guard let old = OSSL_PROVIDER_load(nil, "legacy") else { return false }
            guard let usual = OSSL_PROVIDER_load(nil, "default") else {
                OSSL_PROVIDER_unload(old)
                return false
            }
            providers = [old, usual]
            return true
        }
        guard isLoaded else {
            let reason = OpenSSLErrors.take().text
            throw TLSError(
                .other,
                "the PKCS#12 file is encrypted by an old algorithm that this OpenSSL does not know (\(reason)): export "
                    + "it again with a modern one, or install OpenSSL's legacy provider"
            )
        }
    }
}
