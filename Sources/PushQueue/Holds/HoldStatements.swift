import CarillonIO
import CarillonPostgres

/// The statements that record which apps cannot send.
enum HoldStatements {
    static let begin = Statement(
        "hold",
        """
        INSERT INTO carillon.holds AS h (app_id, kind, reason, next_attempt_at, worker_id)
        VALUES ($1, $2, $3, now() + make_interval(secs => $4), $5)
        ON CONFLICT (app_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
            since = CASE WHEN (h.kind, h.reason) = (excluded.kind, excluded.reason) THEN h.since ELSE excluded.since END,
            seen_at = excluded.seen_at, next_attempt_at = excluded.next_attempt_at,
            worker_id = excluded.worker_id
        """
    )

    static func parameters(_ hold: Hold, of app: Int32, for wait: Duration, by worker: Int64) -> Parameters {
        Parameters(app, hold.kind.rawValue, hold.message, wait.seconds, worker)
    }

    static let end = Statement("end_hold", "DELETE FROM carillon.holds h WHERE h.app_id = $1")

    /// Ends a hold that this worker has written, or one that is gone. Another worker may have written it after the change.
    static let endOutdated = Statement(
        "end_outdated_hold",
        """
        DELETE FROM carillon.holds h WHERE h.app_id = $1
            AND (h.worker_id = $2 OR NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = h.worker_id))
        """
    )

    /// Ends the holds that a worker has written.
    static let endAll = Statement("end_holds", "DELETE FROM carillon.holds h WHERE h.worker_id = $1")
}
