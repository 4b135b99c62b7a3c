import CarillonPushRules
import CarillonText

/// Reads registrations from the bytes of a CSV file, with or without a header. A list of tokens, one a line, is a CSV
/// file without a header.
///
/// It does no I/O: feed it, call `read` until it is hungry, feed it again, and finish.
struct TokenReader {
    enum Step: Equatable {
        /// The batch is full, or the maximum number of refused lines was reached.
        case full
        case hungry
    }

    /// Lines that were a token or were refused. Blank lines, comments and the header do not count.
    private(set) var count = 0
    /// The last line that was read.
    private(set) var line = 0
    /// Columns that are ignored; known once the header is read.
    var otherColumns: [String] { columns?.others ?? [] }
    /// The first kinds that no push type is known to have.
    private(set) var unknownKinds: [TokenKind] = []

    private var csv = CSVReader()
    private var columns: TokenColumns?
    /// Comments are for lists that people write. In a file with a header, a line may begin with anything.
    private var hasHeader = false
    private var digits: [UInt8] = []
    /// The kind of tokens whose line names none.
    private let kind: TokenKind?
    /// Microseconds since 1970. A later time is refused: it would protect a dead token until then.
    private let latest: Int64

    private static let longestOwner = 2_048
    private static let refusalsAtOnce = 1_000
    private static let maxUnknownKinds = 10

    /// - Parameters:
    ///   - now: microseconds since 1970.
    ///   - kind: of the tokens whose line names none.
    init(now: Int64, kind: TokenKind? = nil) {
        self.kind = kind
        if let kind, !kind.isKnown { unknownKinds = [kind] }
        // Allows for clock skew and for a wrong time zone.
        latest = now + 86_400_000_000
    }

    mutating func feed(_ bytes: ArraySlice<UInt8>) { csv.feed(bytes) }

    mutating func finish() { csv.finish() }

    /// Reads what was fed, until the batch has this many registrations.
    mutating func read(
        into batch: inout TokenBatch,
        upTo size: Int,
        _ refusals: inout [RefusedLine]
    ) throws(CSVFileError) -> Step {
        guard try csv.begin(for: "tokens import --app APP") else { return .hungry }
        while batch.count < size, refusals.count < Self.refusalsAtOnce {
            guard csv.skipRest() else { return .hungry }
            if !hasHeader, csv.begins(with: [UInt8(ascii: "#")]) {
                guard csv.skipLine() else { return .hungry }
                continue
            }
            if columns == nil { csv.chooseSeparator() }
            switch csv.next() {
            case .hungry:
                return .hungry
            case .refused(let refusal):
                line = refusal.line
                count += 1
                refusals.append(
                    RefusedLine(line: line, reason: refusal.reason, token: refusal.text, culprit: refusal.text)
                )
            case .record:
                line = csv.record.line
                if csv.record.isBlank { continue }
                if columns == nil {
                    columns = try TokenColumns(header: csv.record)
                    hasHeader = columns != nil
                    if hasHeader { continue }
                    columns = .usual
                }
                count += 1
                if let refusal = add(csv.record, to: &batch) { refusals.append(refusal) }
            }
        }
        return .full
    }

    // MARK: A line

    private mutating func add(_ record: CSVRecord, to batch: inout TokenBatch) -> RefusedLine? {
        guard let columns else { return nil }
        guard columns.count.contains(record.count) else {
            let count = record.count == 1 ? "1 column" : "\(record.count) columns"
            let reason =
                hasHeader
                ? "\(count), where the header has \(columns.count.upperBound)"
                : "\(count), where a token is expected, optionally followed by its last_update and its owner"
            return refusal(of: record, reason, nil)
        }
        if let reason = TokenText.read(record[columns.token], into: &digits) {
            return refusal(of: record, reason, columns.token)
        }
        var lastUpdate: Int64?
        if let column = columns.lastUpdate, column < record.count, !record[column].trimmed.isEmpty {
            switch TimeReader.read(record[column]) {
            case .wrong(let reason): return refusal(of: record, "last_update " + reason, column)
            case .time(let time) where time > latest: return refusal(of: record, "last_update is in the future", column)
            case .time(let time): lastUpdate = time
            }
        }
        var owner: ArraySlice<UInt8>?
        if let column = columns.owner, column < record.count, !record[column].isEmpty {
            if let reason = Self.problem(of: "owner", record[column]) { return refusal(of: record, reason, column) }
            owner = record[column]
        }
        var kind = self.kind
        if let column = columns.kind, column < record.count, !record[column].trimmed.isEmpty {
            guard let own = TokenKind(rawValue: String(decoding: record[column].trimmed, as: UTF8.self)) else {
                return refusal(of: record, "the kind is not \(TokenKind.form)", column)
            }
            kind = own
            if !own.isKnown { note(own) }
        }
        var details: [ArraySlice<UInt8>?] = []
        for (name, column) in zip(TokenDetails.names, columns.details) {
            let text = column.flatMap { record[$0].trimmed.isEmpty ? nil : record[$0].trimmed }
            if let text, let reason = Self.problem(of: name, text) { return refusal(of: record, reason, column) }
            details.append(text)
        }
        batch.append(
            token: digits[...],
            lastUpdate: lastUpdate,
            owner: owner,
            kind: kind,
            details: details,
            line: record.line
        )
        return nil
    }

    private mutating func note(_ unknown: TokenKind) {
        guard unknownKinds.count < Self.maxUnknownKinds, !unknownKinds.contains(unknown) else { return }
        unknownKinds.append(unknown)
    }

    /// PostgreSQL would refuse the whole batch for it.
    private static func problem(of name: String, _ bytes: ArraySlice<UInt8>) -> String? {
        if name == "owner", bytes.count > longestOwner { return "the owner is longer than \(longestOwner) bytes" }
        if bytes.contains(0) { return "the \(name) contains a NUL character" }
        if bytes.allSatisfy({ $0 < 0x80 }) || String(validating: bytes, as: UTF8.self) != nil { return nil }
        return "the \(name) is not valid UTF-8"
    }

    private func refusal(of record: CSVRecord, _ reason: String, _ culprit: Int?) -> RefusedLine {
        func text(_ column: Int?) -> String {
            guard let column, column < record.count else { return "" }
            return String(decoding: record[column].prefix(1_000), as: UTF8.self)
        }
        return RefusedLine(
            line: record.line,
            reason: reason,
            token: text(columns?.token),
            lastUpdate: text(columns?.lastUpdate),
            owner: text(columns?.owner),
            kind: text(columns?.kind),
            details: columns?.details.map { text($0) } ?? [],
            culprit: text(culprit ?? columns?.token)
        )
    }
}
