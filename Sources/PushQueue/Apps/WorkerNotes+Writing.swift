import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonSchema

extension WorkerNotes.Note {
    /// Each statement is a transaction of its own.
    func write(by worker: Int64, on connection: PostgresConnection) async throws(PostgresError) {
        switch self {
        case .facts(let found):
            let facts = try? found.facts.get()
            let problem: String? = if case .failure(let hold) = found.facts { hold.message } else { nil }
            let parameters = Parameters(
                found.certificate,
                Moment(found.since),
                facts?.notAfter.map(Moment.init(seconds:)),
                PostgresArray(facts?.topics ?? []),
                problem
            )
            try await connection.execute(Self.record, parameters)
        case .status(let certificate, let app, let status, let error, let stopsMinting):
            if stopsMinting { try await connection.execute(Self.stopMinting, Parameters(certificate, app)) }
            try await connection.execute(Self.judge, Parameters(certificate, app, status?.rawValue, error))
        case .hold(let app, let (hold, wait)?):
            let parameters = Parameters(app, hold.kind.rawValue, hold.message, wait.seconds, worker)
            try await connection.execute(Self.beginHold, parameters)
        case .hold(let app, nil):
            try await connection.execute(Self.endHold, Parameters(app))
        case .holdOutdated(let app):
            try await connection.execute(Self.endOutdatedHold, Parameters(app, worker))
        }
    }

    /// Records the facts of a credential, once for each text.
    private static let record = Statement(
        "record_credential",
        """
        UPDATE carillon.certificates c SET not_after = $3, topics = $4, last_error = $5,
            status = CASE WHEN $5 IS NULL THEN carillon.validity($3) ELSE 'invalid' END
        WHERE c.id = $1 AND c.updated_at = $2 AND c.status IS NULL
        """
    )

    /// What the gateway of app $2 says about credential $1 counts if it is Apple, or if all apps with the credential use it. Another
    /// one could harm the apps that do not use it.
    private static let trusted = """
        EXISTS (SELECT FROM carillon.apps a WHERE a.id = $2 AND a.certificate_id = $1 AND (a.gateway IS NULL OR NOT EXISTS (
            SELECT FROM carillon.apps o WHERE o.certificate_id = $1 AND o.gateway IS DISTINCT FROM a.gateway)))
        """

    /// The fleet mints no token for the interval that Apple requires between two of them. If each refusal prolonged it, the present
    /// token could expire.
    private static let stopMinting = Statement(
        "stop_minting",
        """
        UPDATE carillon.provider_tokens p SET rests_until = now() + interval '20 minutes'
        WHERE p.certificate_id = $1 AND (p.rests_until BETWEEN now() AND now() + interval '21 minutes') IS NOT TRUE AND \(trusted)
        """
    )

    /// Sets the status of a credential, if it has changed. Null leaves it as it is. A worker finds by itself what is invalid.
    private static let judge = Statement(
        "judge_credential",
        """
        UPDATE carillon.certificates c SET status = n.status, last_error = $4
        FROM (
            SELECT o.id, CASE $3 WHEN 'ok' THEN carillon.validity(o.not_after) ELSE coalesce($3, o.status) END AS status
            FROM carillon.certificates o WHERE o.id = $1
        ) AS n
        WHERE c.id = n.id AND (c.status, c.last_error) IS DISTINCT FROM (n.status, $4) AND ($3 = 'invalid' OR \(trusted))
        """
    )

    private static let beginHold = Statement(
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

    private static let endHold = Statement("end_hold", "DELETE FROM carillon.holds h WHERE h.app_id = $1")

    /// Ends a hold that this worker has written, or one that is gone. Another worker may have written it after the change.
    private static let endOutdatedHold = Statement(
        "end_outdated_hold",
        """
        DELETE FROM carillon.holds h WHERE h.app_id = $1
            AND (h.worker_id = $2 OR NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = h.worker_id))
        """
    )
}
