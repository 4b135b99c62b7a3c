import CarillonCOpenSSL

/// Copies bytes that OpenSSL returns in memory that it has allocated, or in an `ASN1_STRING`.
enum OpenSSLBytes {
    /// Calls a function that allocates its result (`i2d_…`), and frees the result. Nil if the call fails.
    static func allocated(by encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> CInt) -> [UInt8]? {
        var start: UnsafeMutablePointer<UInt8>?
        let count = encode(&start)
        guard let start, count >= 0 else { return nil }
        defer { COpenSSL_OPENSSL_free(start) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    static func content(of string: UnsafePointer<ASN1_STRING>) -> [UInt8] {
        Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
    }
}

extension Array where Element == UInt8 {
    /// Overwrites a secret in place before its memory is freed. Only for an array that is not shared, since a shared one
    /// would be copied first.
    mutating func wipe() {
        withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        removeAll()
    }
}
