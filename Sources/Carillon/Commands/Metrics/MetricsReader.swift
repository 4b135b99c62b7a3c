import CarillonText

/// Reads what Apple has counted from the bytes of a CSV file, as its export service makes it.
///
/// It does no I/O: feed it, call `read` until it is hungry, feed it again, and finish.
struct MetricsReader {
    struct Count: Equatable, Sendable {
        let day: String
        let pushType: String
        let status: String
        /// Nil: Apple hides it.
        let count: Int64?
    }

    /// The positions of the columns in a record.
    private struct Columns {
        let pushType, status, day, count: Int
        /// How many fields a record has.
        let fields: Int
    }

    /// Lines that were read or refused. The header and blank lines do not count.
    private(set) var lines = 0

    private var csv = CSVReader()
    /// Known once the header is read.
    private var columns: Columns?
    private let today: Int64

    private static let atOnce = 1_000
    /// 2009-06-17, when Apple sent the first push.
    private static let firstDay: Int64 = 1_245_196_800_000_000
    private static let hidden: Int64 = -1
    private static let numbers = hidden...1_000_000_000_000_000

    /// - Parameter now: microseconds since 1970. A later day is refused.
    init(now: Int64) { today = DayText.of(now) }

    mutating func feed(_ bytes: ArraySlice<UInt8>) { csv.feed(bytes) }

    mutating func finish() { csv.finish() }

    /// Reads some of what was fed. True if that was all of it.
    mutating func read(_ counts: inout [Count], _ refusals: inout [RefusedLine]) throws(CSVFileError) -> Bool {
        guard try csv.begin(for: "metrics import --app APP") else { return true }
        while counts.count < Self.atOnce, refusals.count < Self.atOnce {
            if columns == nil { csv.chooseSeparator() }
            switch csv.next() {
            case .hungry: return true
            case .refused(let refusal):
                lines += 1
                refusals.append(
                    RefusedLine(line: refusal.line, reason: refusal.reason, token: "", culprit: refusal.text)
                )
            case .record:
                if csv.record.isBlank { continue }
                guard let columns else {
                    columns = try Self.columns(in: csv.record)
                    continue
                }
                lines += 1
                var fault: (reason: String, field: Int?) = ("", nil)
                if let count = count(in: csv.record, columns, &fault) {
                    counts.append(count)
                } else {
                    let text = fault.field.map { String(decoding: csv.record[$0].prefix(1_000), as: UTF8.self) } ?? ""
                    refusals.append(RefusedLine(line: csv.record.line, reason: fault.reason, token: "", culprit: text))
                }
            }
        }
        return false
    }

    private static func columns(in header: CSVRecord) throws(CSVFileError) -> Columns {
        let names = (0..<header.count).map { String(decoding: header[$0].trimmed, as: UTF8.self).lowercased() }
        guard let pushType = names.firstIndex(of: "push type"), let status = names.firstIndex(of: "status"),
            let day = names.firstIndex(of: "date (utc)"), let count = names.firstIndex(of: "count")
        else { throw CSVFileError("its first line does not name the columns Push Type, Status, Date (UTC) and Count.") }
        return Columns(pushType: pushType, status: status, day: day, count: count, fields: names.count)
    }

    /// Nil if something is wrong with the record. PostgreSQL would then refuse all others too.
    private func count(in record: CSVRecord, _ columns: Columns, _ fault: inout (reason: String, field: Int?)) -> Count?
    {
        guard record.count == columns.fields else {
            fault = ("\(Counted.text(Int64(record.count), "column")), where the header has \(columns.fields)", nil)
            return nil
        }
        fault = ("the date is not a day such as 2026-01-31", columns.day)
        guard let day = DayText.read(record[columns.day]), day >= Self.firstDay else { return nil }
        fault.reason = "the date is in the future"
        guard day <= today else { return nil }
        fault = ("the push type is not text of 1 to 64 bytes", columns.pushType)
        guard let pushType = Self.text(record[columns.pushType], maxBytes: 64) else { return nil }
        fault = ("the status is not text of 1 to 255 bytes", columns.status)
        guard let status = Self.text(record[columns.status], maxBytes: 255) else { return nil }
        fault = ("the count is not a whole number from 0, or -1 for a hidden one", columns.count)
        let number = Int64(String(decoding: record[columns.count].trimmed, as: UTF8.self))
        guard let number, Self.numbers.contains(number) else { return nil }
        let count = number == Self.hidden ? nil : number
        return Count(day: TimeText.day(day), pushType: pushType, status: status, count: count)
    }

    private static func text(_ field: ArraySlice<UInt8>, maxBytes: Int) -> String? {
        let field = field.trimmed
        guard (1...maxBytes).contains(field.count), field.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
        return String(validating: field, as: UTF8.self)
    }
}
