import CarillonPostgres
import CarillonSchema
import CarillonText

struct WorkerRow: Record {
    static let statement = Statement(
        "web_workers",
        """
        SELECT \(WorkerRecord.columns), w.started_at, w.connections,
            (SELECT coalesce(sum(t.sent), 0)::int8 FROM carillon.apps a CROSS JOIN LATERAL (
                SELECT t.sent FROM carillon.push_counts t WHERE t.app_id = a.id AND t.worker_id = w.id
                    AND t.minute >= date_trunc('minute', now()) - interval '1 minute') t) AS sent_last_minute
        FROM carillon.worker_status w ORDER BY w.id LIMIT \(maxRows)
        """
    )
    /// The maximum number of workers that a page reads.
    static let maxRows: Int64 = 500

    let worker: WorkerRecord
    let startedAt: Moment
    /// Connections to gateways; nil if not reported yet.
    let connections: Int64?
    let sentLastMinute: Int64

    var json: JSONValue { worker.json }
}
