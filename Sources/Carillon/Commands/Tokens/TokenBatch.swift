import CarillonPushRules

/// Registrations that are written together.
struct TokenBatch: Sendable, Equatable {
    /// A registration, without its texts.
    struct Line: Equatable {
        /// The first bytes of the token, as a number that sorts as they do.
        let prefix: UInt64
        let lastUpdate: Int64?
        /// Where its token is in the texts.
        let token: Range<Int32>
        var owner: Range<Int32>?
        var kind: TokenKind?
        /// The place of its details in those of the batch.
        var details: Int32?
    }

    /// Few enough for short locks, many enough that the cost of a transaction does not matter.
    static let usualSize = 50_000

    /// Tokens, owners and details, one after the other.
    private(set) var texts: [UInt8] = []
    private(set) var lines: [Line] = []
    private(set) var details: [TokenDetails] = []
    let now: Int64

    /// - Parameter now: microseconds since 1970. Lines without a time count as of then when two have the same token.
    init(now: Int64) { self.now = now }

    var count: Int { lines.count }

    /// - Parameters:
    ///   - token: hex digits in lower case.
    ///   - lastUpdate: microseconds since 1970; none means now.
    ///   - owner: UTF-8 without a NUL.
    ///   - kind: none keeps the present kind, and means a device if the token is new.
    ///   - details: in the order of `TokenDetails.names`; UTF-8 without a NUL.
    ///   - number: of the line in the file.
    mutating func append(
        token: ArraySlice<UInt8>,
        lastUpdate: Int64?,
        owner: ArraySlice<UInt8>?,
        kind: TokenKind? = nil,
        details: [ArraySlice<UInt8>?] = [],
        line number: Int = 0
    ) {
        var place: Int32?
        if details.contains(where: { $0 != nil }) {
            place = Int32(self.details.count)
            self.details.append(TokenDetails(line: Int32(number), texts: details.map { $0.map { keep($0) } }))
        }
        lines.append(
            Line(
                prefix: Self.prefix(of: token),
                lastUpdate: lastUpdate,
                token: keep(token),
                owner: owner.map { keep($0) },
                kind: kind,
                details: place
            )
        )
    }

    private mutating func keep(_ text: ArraySlice<UInt8>) -> Range<Int32> {
        let start = Int32(texts.count)
        texts.append(contentsOf: text)
        return start..<Int32(texts.count)
    }

    private static func prefix(of token: ArraySlice<UInt8>) -> UInt64 {
        var prefix: UInt64 = 0
        for byte in token.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
        return prefix << UInt64(8 * max(0, 8 - token.count))
    }
}
