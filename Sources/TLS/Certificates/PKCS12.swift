import CarillonCOpenSSL
import CarillonIO

/// PKCS#12 files, as exported by Keychain and other programs: certificate, chain and key under one passphrase. They are opened
/// once, at import, and kept as PEM.
package enum PKCS12 {
    /// The certificate with its chain, and the decrypted key.
    package static func open(
        _ bytes: [UInt8],
        passphrase: [UInt8]
    ) throws(TLSError) -> (certificatePEM: String, privateKeyPEM: String) {
        ERR_clear_error()
        guard let bundle = MemoryBIO.reading(bytes[...], { d2i_PKCS12_bio($0, nil) }) else {
            let errors = OpenSSLErrors.take()
            if errors.isShortage { throw .shortage(reading: "the PKCS#12 file") }
            throw TLSError(.malformedCertificate, "this is not a PKCS#12 file, or it is damaged (\(errors.text))")
        }
        defer { PKCS12_free(bundle) }
        var secret = passphrase + [0]  // as a C string
        defer { secret.wipe() }

        let contents = try contents(of: bundle, secret)
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

    private static func contents(of bundle: OpaquePointer, _ secret: [UInt8]) throws(TLSError) -> Contents {
        do throws(OpenSSLErrors) {
            return try parse(bundle, secret)
        } catch {
            guard error.isOldAlgorithm else { throw refusal(error) }
        }
        try loadOldAlgorithms()
        do throws(OpenSSLErrors) {
            return try parse(bundle, secret)
        } catch {
            throw refusal(error)
        }
    }

    private static func parse(_ bundle: OpaquePointer, _ secret: [UInt8]) throws(OpenSSLErrors) -> Contents {
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var chain: OpaquePointer?
        ERR_clear_error()
        let result = secret.withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { PKCS12_parse(bundle, $0.baseAddress, &key, &leaf, &chain) }
        }
        guard result == 1 else { throw .take() }
        defer { COpenSSL_sk_X509_pop_free(chain) }
        var above: [Certificate] = []
        for index in 0..<max(0, COpenSSL_sk_X509_num(chain)) {
            guard let certificate = COpenSSL_sk_X509_value(chain, index) else { continue }
            X509_up_ref(certificate)
            above.append(Certificate(owning: certificate))
        }
        return Contents(leaf: leaf.map { Certificate(owning: $0) }, chain: above, key: key.map { Key(owning: $0) })
    }

    private static func refusal(_ errors: OpenSSLErrors) -> TLSError {
        if errors.isShortage { return .shortage(reading: "the PKCS#12 file") }
        if errors.contains(library: ERR_LIB_PKCS12, reason: PKCS12_R_MAC_VERIFY_FAILURE) {
            return TLSError(.wrongPassphrase, "the passphrase does not open the PKCS#12 file")
        }
        return TLSError(.malformedCertificate, "the PKCS#12 file cannot be opened (\(errors.text)): export it again")
    }

    /// Providers with old algorithms, loaded once per process and only for a file that needs them. The default provider is among
    /// them, because OpenSSL loads it implicitly only while no other provider is loaded explicitly.
    private static let oldAlgorithms = Guarded<[OpaquePointer]>([])

    private static func loadOldAlgorithms() throws(TLSError) {
        let isLoaded = oldAlgorithms.withLock { providers in
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
