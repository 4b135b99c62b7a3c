import CarillonPostgres
import CarillonSchema
import CarillonText

/// What one worker finished of a message.
struct WorkerResults: Record {
    /// The maximum number of jobs of a message that are read.
    static let jobDepth: Int64 = 1_000
    static let maxRows = 50

    /// $1: the id of the message; $2: the name of its app, or null if the app was removed.
    static let statement = Statement(
        "web_message_workers",
        """
        SELECT j.worker_id, w.name AS worker, count(*) AS jobs, sum(j.sent) AS sent, sum(j.failed) AS failed,
            sum(j.expired) AS expired, sum(j.cancelled) AS cancelled, max(j.finished_at) AS finished_at,
            CASE WHEN sum(count(*)) OVER () < \(jobDepth) THEN 'exact' ELSE 'at least' END AS jobs_precision
        FROM (SELECT (SELECT a.id FROM carillon.apps a WHERE a.name = $2) AS id) a CROSS JOIN LATERAL (
            (SELECT r.* FROM carillon.results r
            WHERE r.message_id = $1 AND r.broadcast_id IS DISTINCT FROM $1 AND ($2 IS NULL OR r.app_id = a.id) LIMIT 1)
            UNION ALL
            (SELECT r.* FROM carillon.results r
            WHERE r.broadcast_id = $1 AND ($2 IS NULL OR r.app_id = a.id) LIMIT \(jobDepth))) j
        LEFT JOIN carillon.workers w ON w.id = j.worker_id
        WHERE j.worker_id IS NOT NULL
        GROUP BY j.worker_id, w.name ORDER BY max(j.finished_at), j.worker_id LIMIT \(maxRows)
        """
    )

    let id: Int64
    /// The name of the worker; nil if it has ended. Its log has the id.
    let name: String?
    let jobs: Int64
    /// At least: there are jobs that were not read.
    let jobsPrecision: Amount.Precision
    let ended: EndedPushes
    let json: JSONValue

    private enum CodingKeys: String, CodingKey {
        case id = "worker_id"
        case name = "worker"
        case jobs, jobsPrecision, ended, finishedAt, json
    }
    let finishedAt: Moment

    var worker: String { name.map { "worker \(id) (\($0))" } ?? "worker \(id)" }
}
