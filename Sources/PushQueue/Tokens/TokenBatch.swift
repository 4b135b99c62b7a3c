import CarillonPostgres

/// Registrations that are written together.
///
/// They are sorted here and not by PostgreSQL, which has enough to do: while it writes one batch, the next is read and sorted.
package struct TokenBatch: Sendable, Equatable {
    /// A registration, without its texts.
    struct Line: Equatable {
        /// The first bytes of the token, as a number that sorts as they do.
        let prefix: UInt64
        let lastUpdate: Int64?
        /// Where its token is in the texts.
        let token: Range<Int32>
        var owner: Range<Int32>?
        var kind: TokenKind?
    }

    /// Few enough for short locks, many enough that the cost of a transaction does not matter.
    package static let usualSize = 50_000

    /// Tokens and owners, one after the other.
    private var texts: [UInt8] = []
    private var lines: [Line] = []
    private let now: Int64

    /// - Parameter now: microseconds since 1970. Lines without a time count as of then when two have the same token.
    package init(now: Int64) { self.now = now }

    package var count: Int { lines.count }

    /// - Parameters:
    ///   - token: hex digits in lower case.
    ///   - lastUpdate: microseconds since 1970; none means now.
    ///   - owner: UTF-8 without a NUL.
    ///   - kind: none keeps the present kind, and means a device if the token is new.
    package mutating func append(
        token: ArraySlice<UInt8>,
        lastUpdate: Int64?,
        owner: ArraySlice<UInt8>?,
        kind: TokenKind? = nil
    ) {
        lines.append(
            Line(
                prefix: Self.prefix(of: token),
                lastUpdate: lastUpdate,
                token: keep(token),
                owner: owner.map { keep($0) },
                kind: kind
            )
        )
    }

    private mutating func keep(_ text: ArraySlice<UInt8>) -> Range<Int32> {
        let start = Int32(texts.count)
        texts.append(contentsOf: text)
        return start..<Int32(texts.count)
    }

    func text(_ range: Range<Int32>) -> ArraySlice<UInt8> { texts[Int(range.lowerBound)..<Int(range.upperBound)] }

    /// A line for each token, in the order of the tokens: the newest, with the newest owner and the newest kind that any of its
    /// lines has. Of lines with the same time, the last is the newest.
    func newest() -> [Line] {
        let sorted = lines.sorted(by: precedes)
        var newest: [Line] = []
        newest.reserveCapacity(sorted.count)
        for line in sorted {
            if let last = newest.last, last.prefix == line.prefix, text(last.token) == text(line.token) {
                newest[newest.count - 1].owner = last.owner ?? line.owner
                newest[newest.count - 1].kind = last.kind ?? line.kind
            } else {
                newest.append(line)
            }
        }
        return newest
    }

    /// As the columns of `TokenStatements.table`.
    func rows(of lines: ArraySlice<Line>) -> CopyRows {
        var rows = CopyRows(capacity: lines.count * 128)
        for line in lines {
            rows.begin(columns: 4)
            rows.append(text: text(line.token))
            rows.append(timestamp: line.lastUpdate)
            rows.append(text: line.owner.map { text($0) })
            rows.append(text: line.kind.map { Array($0.rawValue.utf8)[...] })
        }
        return rows
    }

    /// By token, and the newest line of a token first.
    private func precedes(_ one: Line, _ other: Line) -> Bool {
        if one.prefix != other.prefix { return one.prefix < other.prefix }
        let (token, otherToken) = (text(one.token), text(other.token))
        if token != otherToken { return token.lexicographicallyPrecedes(otherToken) }
        let (time, otherTime) = (one.lastUpdate ?? now, other.lastUpdate ?? now)
        return time == otherTime ? one.token.lowerBound > other.token.lowerBound : time > otherTime
    }

    private static func prefix(of token: ArraySlice<UInt8>) -> UInt64 {
        var prefix: UInt64 = 0
        for byte in token.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
        return prefix << UInt64(8 * max(0, 8 - token.count))
    }
}
