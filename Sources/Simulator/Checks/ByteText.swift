import Glibc

/// Comparing header bytes with known words: no `String` is ever made of them.
extension Span where Element == UInt8 {
    func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                mine.isEmpty || memcmp(mine.baseAddress!, theirs.baseAddress!, mine.count) == 0
            }
        }
    }

    func equals(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && hasSuffix(word)
    }

    func hasSuffix(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard length <= count else { return false }
        return withUnsafeBytes { bytes in
            length == 0 || memcmp(bytes.baseAddress! + (bytes.count - length), word.utf8Start, length) == 0
        }
    }

    func hasPrefix(_ word: StaticString) -> Bool {
        let length = word.utf8CodeUnitCount
        guard length <= count else { return false }
        return withUnsafeBytes { bytes in length == 0 || memcmp(bytes.baseAddress!, word.utf8Start, length) == 0 }
    }

    /// A copy, for what outlives the request.
    var array: [UInt8] { withUnsafeBytes { Array($0) } }

    /// For the slow paths only: records, logs and new provider tokens.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
