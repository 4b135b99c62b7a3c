import CarillonPostgres
import CarillonPushRules

/// A batch as PostgreSQL receives it: a line for each token, in the order of the tokens. It is the newest, with the newest owner
/// and the newest kind that any line of the token has. Of lines with the same time, the last is the newest.
///
/// It is sorted here and not by PostgreSQL, which has enough to do. Sort a batch while the one before is written.
struct SortedTokens: Sendable {
    private let texts: [UInt8]
    private let now: Int64
    private(set) var lines: [TokenBatch.Line] = []
    private var details: [TokenDetails]

    init(_ batch: TokenBatch) {
        texts = batch.texts
        now = batch.now
        details = batch.details
        let sorted = batch.lines.sorted(by: precedes)
        lines.reserveCapacity(sorted.count)
        for line in sorted {
            if let last = lines.last, last.prefix == line.prefix, text(last.token) == text(line.token) {
                fillDetails(of: last, from: line)
                lines[lines.count - 1].owner = last.owner ?? line.owner
                lines[lines.count - 1].kind = last.kind ?? line.kind
            } else {
                lines.append(line)
            }
        }
    }

    private mutating func fillDetails(of newest: TokenBatch.Line, from line: TokenBatch.Line) {
        guard let older = line.details.map({ details[Int($0)] }) else { return }
        var filled = newest.details.map { details[Int($0)] } ?? TokenDetails(line: older.line)
        let (owner, olderOwner) = (newest.owner.map { text($0) }, line.owner.map { text($0) })
        filled.fill(from: older, ofSameOwner: owner == nil || olderOwner == nil || owner == olderOwner)
        lines[lines.count - 1].details = Int32(details.count)
        details.append(filled)
    }

    func text(_ range: Range<Int32>) -> ArraySlice<UInt8> { texts[Int(range.lowerBound)..<Int(range.upperBound)] }

    /// Whether all are device tokens. Their kind and their end are then what the table has by default.
    var areOfDevices: Bool { lines.allSatisfy { ($0.kind ?? .device) == .device } }

    var haveDetails: Bool { !details.isEmpty }

    /// Some of them, as the columns of `TokenStatements.insert`.
    ///
    /// - Parameter time: of the tokens whose line has none, in microseconds since 1970.
    func rows(_ range: Range<Int>, of app: Int32, at time: Int64) -> CopyRows {
        var rows = CopyRows(capacity: range.count * 128)
        for line in lines[range] {
            rows.begin(columns: 4)
            rows.append(app)
            rows.append(text: text(line.token))
            rows.append(timestamp: line.lastUpdate ?? time)
            rows.append(text: line.owner.map { text($0) })
        }
        return rows
    }

    /// Some of them, as the columns of `TokenStatements.table`, and those of `TokenStatements.details` if they have any.
    func rows(_ range: Range<Int>) -> CopyRows {
        var rows = CopyRows(capacity: range.count * 128)
        for line in lines[range] {
            rows.begin(columns: haveDetails ? 5 + Int16(TokenDetails.names.count) : 4)
            rows.append(text: text(line.token))
            rows.append(timestamp: line.lastUpdate)
            rows.append(text: line.owner.map { text($0) })
            rows.append(text: line.kind.map { Array($0.rawValue.utf8)[...] })
            guard haveDetails else { continue }
            let own = line.details.map { details[Int($0)] }
            rows.append((own?.line).map { Int64($0) })
            for place in TokenDetails.names.indices { rows.append(text: own?.texts[place].map { text($0) }) }
        }
        return rows
    }

    /// By token, and the newest line of a token first.
    private func precedes(_ one: TokenBatch.Line, _ other: TokenBatch.Line) -> Bool {
        if one.prefix != other.prefix { return one.prefix < other.prefix }
        let (token, otherToken) = (text(one.token), text(other.token))
        if token != otherToken { return token.lexicographicallyPrecedes(otherToken) }
        let (time, otherTime) = (one.lastUpdate ?? now, other.lastUpdate ?? now)
        return time == otherTime ? one.token.lowerBound > other.token.lowerBound : time > otherTime
    }
}
