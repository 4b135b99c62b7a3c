import Postgres

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

    var total: Int { sent + failed + expired + cancelled }

    /// Those that were not sent, for example "2 failed"; without zeros.
    var unsentTexts: [String] {
        [(failed, "failed"), (expired, "expired"), (cancelled, "cancelled")].filter { $0.0 > 0 }.map {
            "\($0.grouped) \($1)"
        }
    }

    var members: [(String, JSONValue)] {
        [
            ("sent", .int(Int64(sent))), ("failed", .int(Int64(failed))), ("expired", .int(Int64(expired))),
            ("cancelled", .int(Int64(cancelled))),
        ]
    }
}
