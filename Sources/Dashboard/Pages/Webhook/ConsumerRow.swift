import CarillonPostgres
import CarillonSchema
import CarillonText

/// A row of `consumers`, except those that belong to webhooks.
struct ConsumerRow: Record {
    /// $1: the name of an app, null: all; $2: at most so many rows; $3: in how many rows the events of each are counted.
    static let statement = Statement(
        "web_consumers",
        """
        SELECT c.*, d.events, d.events_precision,
            extract(epoch FROM now() - CASE WHEN isfinite(d.oldest_at) THEN d.oldest_at END)::float8 AS lag_seconds
        FROM (
            SELECT c.app, c.consumer, c.kinds, c.created_at FROM carillon.consumers c
            WHERE c.consumer NOT LIKE 'webhook:%' AND ($1::text IS NULL OR c.app = $1) ORDER BY c.app, c.consumer LIMIT $2) c
        CROSS JOIN LATERAL carillon.untaken_depth(c.app, c.consumer, $3) d
        ORDER BY c.app, c.consumer
        """
    )

    let app: String
    let consumer: String
    /// Nil: all.
    let kinds: [String]?
    let createdAt: Moment
    let events: Int64
    let eventsPrecision: Amount.Precision
    let lagSeconds: Double?
    let json: JSONValue
}
