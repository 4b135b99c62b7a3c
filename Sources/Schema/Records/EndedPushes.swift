package import CarillonPostgres
package import CarillonText
import FoundationEssentials

/// How many pushes of a message have ended, by outcome.
package struct EndedPushes: RowReadable {
    package let sent: Int
    package let failed: Int
    package let expired: Int
    package let cancelled: Int

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        sent = Int(try rows.int64(row, "sent"))
        failed = Int(try rows.int64(row, "failed"))
        expired = Int(try rows.int64(row, "expired"))
        cancelled = Int(try rows.int64(row, "cancelled"))
    }

    /// For example "1 sent" and "2 failed".
    package var texts: [String] { ["\(sent.grouped) sent"] + unsentTexts }

    package var total: Int { sent + failed + expired + cancelled }

    /// Those that were not sent, for example "2 failed"; without zeros.
    package var unsentTexts: [String] {
        [(failed, "failed"), (expired, "expired"), (cancelled, "cancelled")].filter { $0.0 > 0 }.map {
            "\($0.grouped) \($1)"
        }
    }

    package var json: JSONValue { ["sent": sent, "failed": failed, "expired": expired, "cancelled": cancelled] }
}
