import CarillonCOpenSSL

/// Converts ECDSA signatures between OpenSSL's form, DER, and that of JSON Web Tokens, two numbers of 32 bytes each.
package enum ES256 {
    package static func raw(der: [UInt8]) -> [UInt8]? {
        let signature = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        guard let signature else { return nil }
        defer { ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: 32)
        var s = r
        guard BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, 32) == 32,
            BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, 32) == 32
        else { return nil }
        return r + s
    }

    package static func der(raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64, let signature = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(signature) }
        guard let r = BN_bin2bn(raw, 32, nil), let s = BN_bin2bn(Array(raw[32...]), 32, nil),
            ECDSA_SIG_set0(signature, r, s) == 1
        else { return nil }
        return OpenSSLBytes.allocated { i2d_ECDSA_SIG(signature, $0) }
    }
}
