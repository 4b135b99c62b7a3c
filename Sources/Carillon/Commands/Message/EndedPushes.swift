import CarillonPostgres
import CarillonText
import FoundationEssentials

/// How many pushes of a message have ended, by outcome.
struct EndedPushes: RowReadable {
    let sent: Int
    let failed: Int
    let expired: Int
    let cancelled: Int

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        sent = Int(try rows.int64(row, "sent"))
        failed = Int(try rows.int64(row, "failed"))
        expired = Int(try rows.int64(row, "expired"))
        cancelled = Int(try rows.int64(row, "cancelled"))
    }

    /// For example "1 sent" and "2 failed".
    var texts: [String] { ["\(sent.grouped) sent"] + unsentTexts }

    var total: Int { sent + failed + expired + cancelled }

    /// Those that were not sent, for example "2 failed"; without zeros.
    var unsentTexts: [String] {
        [(failed, "failed"), (expired, "expired"), (cancelled, "cancelled")].filter { $0.0 > 0 }.map {
            "\($0.grouped) \($1)"
        }
    }

    var json: JSONValue { ["sent": sent, "failed": failed, "expired": expired, "cancelled": cancelled] }
}
