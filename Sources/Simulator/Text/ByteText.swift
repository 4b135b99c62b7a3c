import Glibc

/// Comparisons of header bytes with known words, without creating a `String`.
extension Span where Element == UInt8 {
    func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { mine in
            other.withUnsafeBytes { theirs in
                mine.isEmpty || memcmp(mine.baseAddress!, theirs.baseAddress!, mine.count) == 0
            }
        }
    }

    func equals(_ word: StaticString) -> Bool { count == word.utf8CodeUnitCount && has(word, at: 0) }

    func hasPrefix(_ word: StaticString) -> Bool { count >= word.utf8CodeUnitCount && has(word, at: 0) }

    func hasSuffix(_ word: StaticString) -> Bool {
        let start = count - word.utf8CodeUnitCount
        return start >= 0 && has(word, at: start)
    }

    private func has(_ word: StaticString, at start: Int) -> Bool {
        let length = word.utf8CodeUnitCount
        return length == 0 || withUnsafeBytes { memcmp($0.baseAddress! + start, word.utf8Start, length) == 0 }
    }

    /// A copy, for data that outlives the request.
    var array: [UInt8] { withUnsafeBytes { Array($0) } }

    /// For the slow paths only: records, logs and new provider tokens.
    var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
