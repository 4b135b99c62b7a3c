import CarillonCOpenSSL

/// Finds the public keys that may have made an ES256 signature.
///
/// A P-256 signature usually fits two keys, so one signature does not identify the key. A second signature by the same key fits
/// only one of them.
package enum P256Recovery {
    /// Uncompressed points (65 bytes each) of all keys under which `signature` (r and s, 32 bytes each) is valid for a message with
    /// this SHA-256 digest; empty if there is no such key.
    package static func publicKeys(signature: [UInt8], digest: [UInt8]) -> [[UInt8]] {
        guard signature.count == 64, digest.count == 32,
            let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
        else { return [] }
        defer { EC_GROUP_free(group) }
        guard let context = BN_CTX_new() else { return [] }
        defer { BN_CTX_free(context) }
        BN_CTX_start(context)
        defer { BN_CTX_end(context) }
        let numbers = (0..<7).map { _ in BN_CTX_get(context) }
        guard let last = numbers.last, last != nil else { return [] }
        let (r, s, e, prime) = (numbers[0], numbers[1], numbers[2], numbers[3])
        let (inverse, x, factor) = (numbers[4], numbers[5], numbers[6])
        guard let order = EC_GROUP_get0_order(group),
            EC_GROUP_get_curve(group, prime, nil, nil, context) == 1,
            BN_bin2bn(Array(signature[..<32]), 32, r) != nil,
            BN_bin2bn(Array(signature[32...]), 32, s) != nil,
            BN_bin2bn(digest, 32, e) != nil,
            BN_is_zero(r) == 0, BN_cmp(r, order) < 0, BN_is_zero(s) == 0, BN_cmp(s, order) < 0,
            BN_mod_inverse(inverse, r, order, context) != nil
        else {
            ERR_clear_error()
            return []
        }
        // The key is (s·R − e·G) / r, where R is a point whose x is r, or rarely r plus the group's order.
        var keys: [[UInt8]] = []
        guard BN_copy(x, r) != nil else { return [] }
        while BN_cmp(x, prime) < 0 {
            for parity in [CInt(0), 1] {
                guard let point = EC_POINT_new(group), let key = EC_POINT_new(group) else { return [] }
                defer {
                    EC_POINT_free(point)
                    EC_POINT_free(key)
                }
                var encoded = [UInt8](repeating: 0, count: 65)
                if EC_POINT_set_compressed_coordinates(group, point, x, parity, context) == 1,
                    BN_mod_mul(factor, e, inverse, order, context) == 1,
                    BN_sub(factor, order, factor) == 1,
                    EC_POINT_mul(group, key, factor, nil, nil, context) == 1,
                    BN_mod_mul(factor, s, inverse, order, context) == 1,
                    EC_POINT_mul(group, point, nil, point, factor, context) == 1,
                    EC_POINT_add(group, key, key, point, context) == 1,
                    EC_POINT_is_at_infinity(group, key) == 0,
                    EC_POINT_point2oct(group, key, POINT_CONVERSION_UNCOMPRESSED, &encoded, 65, context) == 65
                {
                    keys.append(encoded)
                }
            }
            guard BN_add(x, x, order) == 1 else { break }
        }
        ERR_clear_error()
        return keys
    }
}
