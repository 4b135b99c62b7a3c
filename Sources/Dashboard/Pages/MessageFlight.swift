import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// A job of a message that a worker has in flight.
struct MessageFlight: RowReadable, JSONConvertible {
    let job: Int64
    let claimedAt: Moment
    let attempt: Int64
    let tokens: Int64
    let worker: String?

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        job = try rows.int64(row, "id")
        claimedAt = Moment(try rows.timestamp(row, "claimed_at"))
        attempt = try rows.int64(row, "attempt")
        tokens = try rows.int64(row, "token_count")
        worker = try rows.stringIfPresent(row, "worker")
    }

    var json: JSONValue {
        ["job": job, "claimed_at": claimedAt, "attempt": attempt, "tokens": tokens, "worker": worker]
    }
}
