import COpenSSL

extension Array where Element == UInt8 {
    /// Overwrites a secret in place before its memory is freed. Only for an array that is not shared, since a shared one
    /// would be copied first.
    mutating func wipe() {
        withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        removeAll()
    }
}
