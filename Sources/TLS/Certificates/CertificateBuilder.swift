import CarillonCOpenSSL
import Glibc

struct CertificateBuilder {
    private let certificate: Certificate

    init(publicKey: Key) throws(TLSError) {
        guard let pointer = X509_new() else { preconditionFailure("out of memory") }
        certificate = Certificate(owning: pointer)
        X509_set_version(pointer, 2)  // means version 3
        X509_set_pubkey(pointer, publicKey.pointer)
        // Sixteen random bytes, as a positive number, so that no two certificates of an authority share a serial number.
        var number = SystemRandom.bytes(16)
        number[0] = number[0] & 0x7F | 0x40
        let big = BN_bin2bn(number, CInt(number.count), nil)
        defer { BN_free(big) }
        guard BN_to_ASN1_INTEGER(big, X509_get_serialNumber(pointer)) != nil else {
            throw TLSError(.other, "a certificate could not be given a serial number: \(OpenSSLErrors.take().text)")
        }
    }

    func setSubject(_ entries: [(kind: CInt, text: String)]) {
        let name = X509_get_subject_name(certificate.pointer)
        for entry in entries {
            let bytes = Array(entry.text.utf8)
            X509_NAME_add_entry_by_NID(name, entry.kind, MBSTRING_UTF8, bytes, CInt(bytes.count), -1, 0)
        }
    }

    /// Seconds since 1970.
    func setValidity(from start: Int64, to end: Int64) {
        ASN1_TIME_set(X509_getm_notBefore(certificate.pointer), time_t(start))
        ASN1_TIME_set(X509_getm_notAfter(certificate.pointer), time_t(end))
    }

    /// An extension of X.509, in the syntax of OpenSSL's configuration files.
    func add(_ kind: CInt, _ value: String, issuer: Certificate? = nil) {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, (issuer ?? certificate).pointer, certificate.pointer, nil, nil, 0)
        guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
            preconditionFailure("\(value) is not an extension: \(OpenSSLErrors.take().text)")
        }
        defer { X509_EXTENSION_free(made) }
        X509_add_ext(certificate.pointer, made, -1)
    }

    /// An extension that OpenSSL does not know, by its object identifier and its DER.
    func add(_ identifier: String, _ value: [UInt8]) {
        let object = OBJ_txt2obj(identifier, 1)
        let content = ASN1_OCTET_STRING_new()
        ASN1_OCTET_STRING_set(content, value, CInt(value.count))
        let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, content)
        X509_add_ext(certificate.pointer, made, -1)
        X509_EXTENSION_free(made)
        ASN1_OCTET_STRING_free(content)
        ASN1_OBJECT_free(object)
    }

    /// Host names and numeric addresses.
    func addAlternativeNames(_ names: [String]) {
        var general: [UInt8] = []
        for name in names {
            if let address = a2i_IPADDRESS(name) {
                general += DER.element(0x87, OpenSSLBytes.content(of: address))
                ASN1_OCTET_STRING_free(address)
            } else {
                general += DER.element(0x82, Array(name.utf8))
            }
        }
        ERR_clear_error()
        add("2.5.29.17", DER.element(DER.sequence, general))
    }

    /// The certificate, signed by the issuer, or self-signed if there is none.
    func signed(by issuer: Certificate?, _ key: Key) throws(TLSError) -> Certificate {
        // Of several roots with one name, OpenSSL takes the one with this key.
        if let issuer { add(NID_authority_key_identifier, "keyid", issuer: issuer) }
        let issuer = issuer ?? certificate
        X509_set_issuer_name(certificate.pointer, X509_get_subject_name(issuer.pointer))
        ERR_clear_error()
        guard X509_sign(certificate.pointer, key.pointer, EVP_sha256()) > 0 else {
            throw TLSError(.other, "a certificate could not be signed: \(OpenSSLErrors.take().text)")
        }
        return certificate
    }
}
