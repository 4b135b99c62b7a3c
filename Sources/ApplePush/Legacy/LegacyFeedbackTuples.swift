import CarillonText

/// Parses the tuples of the feedback service: four bytes of seconds since 1970, two of the token's length, the token. Bytes
/// may arrive in any pieces; it keeps at most one tuple.
struct LegacyFeedbackTuples {
    /// In bytes. Nobody has registered a longer one: carillon.tokens takes none.
    static let longestToken = 256
    private static let headCount = 6

    /// The beginning of an incomplete tuple.
    private var rest: [UInt8] = []
    /// The number of tuples without a token.
    private(set) var empty = 0
    /// The number of tuples with a token that is longer than any.
    private(set) var tooLong = 0

    var isWhole: Bool { rest.isEmpty }

    /// Returns the entries that are complete now.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> [Feedback] {
        var entries: [Feedback] = []
        var bytes = bytes
        // Complete the kept tuple first; parse the others in place.
        while !rest.isEmpty, !bytes.isEmpty {
            let missing = Self.count(of: rest[...]) - rest.count
            rest += bytes.prefix(missing)
            bytes = bytes.dropFirst(missing)
            if rest.count >= Self.headCount, rest.count == Self.count(of: rest[...]) {
                take(rest[...], into: &entries)
                rest.removeAll(keepingCapacity: true)
            }
        }
        while bytes.count >= Self.headCount, bytes.count >= Self.count(of: bytes) {
            let count = Self.count(of: bytes)
            take(bytes.prefix(count), into: &entries)
            bytes = bytes.dropFirst(count)
        }
        rest += bytes
        return entries
    }

    /// The size of the tuple that begins here, or of its head if the length has not arrived.
    private static func count(of bytes: ArraySlice<UInt8>) -> Int {
        guard bytes.count >= Self.headCount else { return Self.headCount }
        let start = bytes.startIndex
        return Self.headCount + Int(bytes[start + 4]) << 8 + Int(bytes[start + 5])
    }

    private mutating func take(_ tuple: ArraySlice<UInt8>, into entries: inout [Feedback]) {
        let seconds = tuple.prefix(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        let token = tuple.dropFirst(Self.headCount)
        guard !token.isEmpty else {
            empty += 1
            return
        }
        guard token.count <= Self.longestToken else {
            tooLong += 1
            return
        }
        entries.append(Feedback(token: Array(token).hexadecimal, timestamp: seconds * 1000))
    }
}
