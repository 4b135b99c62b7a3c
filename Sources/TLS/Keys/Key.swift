import CarillonCOpenSSL

/// A private or public key, held by OpenSSL, which wipes it when it is freed.
final class Key: Sendable {
    /// Safe, because nothing changes the key after `init`. Any thread may use such an `EVP_PKEY`: OpenSSL locks the caches inside
    /// it.
    nonisolated(unsafe) let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// A new key on the curve P-256.
    static func generate() throws(TLSError) -> Key {
        ERR_clear_error()
        guard let pointer = COpenSSL_EVP_EC_gen("P-256") else {
            throw TLSError(.other, "a key could not be made: \(OpenSSLErrors.take().text)")
        }
        return Key(owning: pointer)
    }

    var isP256: Bool {
        guard EVP_PKEY_is_a(pointer, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1 else { return false }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) == "prime256v1"
    }

    /// As in "RSA key of 1024 bits".
    var name: String {
        let kind = EVP_PKEY_get0_type_name(pointer).map { String(cString: $0) } ?? "unknown"
        return "\(kind) key of \(EVP_PKEY_get_bits(pointer)) bits"
    }

    /// The public half, encoded as in certificates.
    var publicDER: [UInt8] { OpenSSLBytes.allocated { i2d_PUBKEY(pointer, $0) } ?? [] }

    /// The private half, unencrypted.
    var privatePEM: String {
        MemoryBIO.text { PEM_write_bio_PKCS8PrivateKey($0, pointer, nil, nil, 0, nil, nil) }
    }
}
