import CarillonCOpenSSL
import Glibc

/// The fields of a certificate that people read and checks use.
package struct CertificateFacts: Sendable, Equatable {
    /// The environments of APNs that a push certificate is for.
    package struct Environments: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let sandbox = Environments(rawValue: 1)
        package static let production = Environments(rawValue: 2)
    }

    /// As in "UID=org.example.app,CN=Apple Push Services: org.example.app".
    package let subject: String
    package let issuer: String
    /// Seconds since 1970.
    package let notBefore: Int64
    package let notAfter: Int64
    /// The topics that it may push to: the subject's user ID first, then those of Apple's extension.
    package let topics: [String]
    /// Empty if the certificate names none.
    package let environments: Environments
    /// Whether its issuer is named Apple Inc.; the signature is not checked.
    package let isApple: Bool
    /// Whether it has an extension of Apple's push certificates. Anyone can add one.
    package let isForPushes: Bool

    /// The first certificate of a PEM text.
    package init(pem: String) throws(TLSError) {
        self.init(try Certificate.all(in: Array(pem.utf8), what: "the text")[0])
    }

    init(_ certificate: Certificate) {
        let pointer = certificate.pointer
        subject = Self.text(of: X509_get_subject_name(pointer))
        issuer = Self.text(of: X509_get_issuer_name(pointer))
        notBefore = Self.seconds(of: X509_get0_notBefore(pointer))
        notAfter = Self.seconds(of: X509_get0_notAfter(pointer))

        var topics: [String] = []
        if let user = Self.entry(NID_userId, of: X509_get_subject_name(pointer)) { topics.append(user) }
        for identifier in AppleExtensions.topics {
            guard let value = Self.extension(identifier, of: pointer) else { continue }
            for topic in AppleExtensions.parseTopics(value) where !topics.contains(topic) { topics.append(topic) }
        }
        self.topics = topics

        var environments = Environments()
        if Self.extension(AppleExtensions.sandbox, of: pointer) != nil { environments.insert(.sandbox) }
        if Self.extension(AppleExtensions.production, of: pointer) != nil { environments.insert(.production) }
        self.environments = environments
        isApple = Self.entry(NID_organizationName, of: X509_get_issuer_name(pointer)) == "Apple Inc."
        let namesTopics = AppleExtensions.topics.contains { Self.extension($0, of: pointer) != nil }
        isForPushes = namesTopics || !environments.isEmpty
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name else { return "" }
        // Readable UTF-8, with special characters escaped as in RFC 2253.
        let flags = COpenSSL_XN_FLAG_RFC2253 & ~UInt(ASN1_STRFLGS_ESC_MSB)
        return MemoryBIO.text { X509_NAME_print_ex($0, name, 0, flags) }
    }

    private static func entry(_ kind: CInt, of name: OpaquePointer?) -> String? {
        guard let name else { return nil }
        let index = X509_NAME_get_index_by_NID(name, kind, -1)
        guard index >= 0, let entry = X509_NAME_get_entry(name, index) else { return nil }
        let bytes = OpenSSLBytes.allocated { ASN1_STRING_to_UTF8($0, X509_NAME_ENTRY_get_data(entry)) }
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func seconds(of time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(timegm(&parts))
    }

    private static func `extension`(_ identifier: String, of certificate: OpaquePointer) -> [UInt8]? {
        guard let object = OBJ_txt2obj(identifier, 1) else { return nil }
        defer { ASN1_OBJECT_free(object) }
        let index = X509_get_ext_by_OBJ(certificate, object, -1)
        guard index >= 0, let value = X509_EXTENSION_get_data(X509_get_ext(certificate, index)) else { return nil }
        return OpenSSLBytes.content(of: value)
    }
}
