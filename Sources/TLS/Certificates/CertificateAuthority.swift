import CarillonCOpenSSL
import CarillonIO

/// A private authority for the simulator, the demonstration and tests. Only clients that are given its root trust the certificates
/// that it issues.
package struct CertificateAuthority: Sendable {
    private let certificate: Certificate
    private let key: Key

    /// The root.
    package var pem: String { certificate.pem }

    /// The root and its private key, to be stored and read back by `init(keptAs:)`.
    package var secretPEM: String { certificate.pem + key.privatePEM }

    package init(keptAs text: [UInt8]) throws(TLSError) {
        let identity = try Identity(certificate: text)
        guard X509_check_ca(identity.certificate.pointer) == 1 else {
            throw TLSError(
                .malformedCertificate,
                "the certificate of \(identity.leaf.subject) is not that of an authority"
            )
        }
        guard WallClock.seconds < identity.leaf.notAfter else {
            throw TLSError(.expired, "the certificate of \(identity.leaf.subject) has expired")
        }
        certificate = identity.certificate
        key = identity.key
    }

    package init(name: String) throws(TLSError) {
        key = try Key.generate()
        let builder = try CertificateBuilder(publicKey: key)
        builder.setSubject([(NID_organizationName, "Carillon"), (NID_commonName, name)])
        builder.setValidity(from: WallClock.seconds - 3600, to: WallClock.seconds + 10 * 365 * 86_400)
        builder.add(NID_basic_constraints, "critical,CA:TRUE")
        builder.add(NID_key_usage, "critical,keyCertSign,cRLSign")
        builder.add(NID_subject_key_identifier, "hash")
        certificate = try builder.signed(by: nil, key)
    }

    /// Issues a certificate with a new key. With topics it resembles Apple's push certificates: the first topic is the subject's
    /// user ID, and Apple's extension lists them all. Times are seconds since 1970 and may be in the past.
    package func issue(
        commonName: String,
        subjectAlternativeNames: [String] = [],
        topics: [String] = [],
        environments: CertificateFacts.Environments = [.production, .sandbox],
        notBefore: Int64? = nil,
        notAfter: Int64? = nil
    ) throws(TLSError) -> (certificatePEM: String, privateKeyPEM: String) {
        let key = try Key.generate()
        let builder = try CertificateBuilder(publicKey: key)
        let user = topics.first.map { [(NID_userId, $0)] } ?? []
        builder.setSubject(user + [(NID_commonName, commonName)])
        let start = notBefore ?? min(WallClock.seconds, notAfter ?? .max) - 3600
        builder.setValidity(from: start, to: notAfter ?? WallClock.seconds + 365 * 86_400)
        builder.add(NID_basic_constraints, "critical,CA:FALSE")
        builder.add(NID_key_usage, "critical,digitalSignature")
        builder.add(NID_ext_key_usage, "serverAuth,clientAuth")
        if !subjectAlternativeNames.isEmpty { builder.addAlternativeNames(subjectAlternativeNames) }
        if !topics.isEmpty {
            builder.add(AppleExtensions.topics[0], AppleExtensions.topicsValue(topics))
            let null: [UInt8] = [5, 0]
            if environments.contains(.sandbox) { builder.add(AppleExtensions.sandbox, null) }
            if environments.contains(.production) { builder.add(AppleExtensions.production, null) }
        }
        return (try builder.signed(by: certificate, self.key).pem, key.privatePEM)
    }
}
