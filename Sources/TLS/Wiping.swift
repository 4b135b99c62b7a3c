import COpenSSL

extension Array where Element == UInt8 {
    /// Overwrites a secret in place before its memory is given back. An array that is shared would be copied first, so
    /// this is for one that its only owner made.
    mutating func wipe() {
        self.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        self.removeAll()
    }
}
