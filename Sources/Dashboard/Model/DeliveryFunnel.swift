import CarillonPostgres
import CarillonSchema
import CarillonText

/// How many pushes of an app were enqueued, accepted by Apple and delivered, on the newest days for which Apple has counted.
struct DeliveryFunnel: Record {
    /// The first day of our own counts is not complete, because maintenance deletes them by the hour.
    private static let statement = Statement(
        "web_deliveries",
        """
        WITH app AS (SELECT a.id FROM carillon.apps a WHERE a.name = $1),
        kept AS (
            SELECT (min(s.start) AT TIME ZONE 'UTC')::date + 1 AS day FROM carillon.push_count_sums s JOIN app ON app.id = s.app_id
        ), days AS (
            SELECT DISTINCT m.day FROM carillon.delivery_metrics m CROSS JOIN kept k
            WHERE m.app = $1 AND m.day >= greatest(k.day, (now() AT TIME ZONE 'UTC')::date - 40) ORDER BY m.day DESC LIMIT 7
        ), ours AS (
            SELECT sum(s.sent + s.failed + s.expired)::int8 AS ended, sum(s.sent)::int8 AS accepted
            FROM carillon.push_count_sums s JOIN app ON app.id = s.app_id
            WHERE s.start >= (SELECT min(d.day) FROM days d)::timestamp AT TIME ZONE 'UTC'
                AND (s.start AT TIME ZONE 'UTC')::date IN (SELECT d.day FROM days d)
        ), apples AS (
            SELECT min(m.day)::text AS first, max(m.day)::text AS last, sum(m.count) FILTER (WHERE m.is_delivery) AS delivered,
                bool_or(m.is_delivery AND m.count IS NULL) AS is_cut
            FROM carillon.delivery_metrics m WHERE m.app = $1 AND m.day IN (SELECT d.day FROM days d)
        )
        SELECT a.first, a.last, o.ended, o.accepted, CASE WHEN a.delivered > 1e15 THEN 1e15 ELSE a.delivered END::int8 AS delivered,
            CASE WHEN a.is_cut THEN 'at least about' ELSE 'about' END AS delivered_precision
        FROM apples a CROSS JOIN ours o WHERE a.first IS NOT NULL
        """
    )

    let first, last: String
    /// Nil if our own counts are not kept for as long.
    let ended, accepted: Int64?
    /// Nil if Apple hides it, or counts none.
    let delivered: Int64?
    let deliveredPrecision: Amount.Precision
    let json: JSONValue

    /// Nil if Apple has counted nothing.
    static func read(app: String, from database: ServiceRunner) async throws -> DeliveryFunnel? {
        let found: [DeliveryFunnel] = try await database.values(of: statement, Parameters(app))
        return found.first
    }
}
