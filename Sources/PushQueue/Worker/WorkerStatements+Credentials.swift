import CarillonPostgres

/// The statements about credentials, and about apps that cannot send.
extension WorkerStatements {
    static let hold = Statement(
        "hold",
        """
        INSERT INTO carillon.holds AS h (app_id, kind, reason, next_try_at, worker_id)
        VALUES ($1, $2, $3, now() + make_interval(secs => $4), $5)
        ON CONFLICT (app_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
            since = CASE WHEN (h.kind, h.reason) = (excluded.kind, excluded.reason) THEN h.since ELSE excluded.since END,
            seen_at = excluded.seen_at, next_try_at = excluded.next_try_at,
            worker_id = excluded.worker_id
        """
    )

    static let endHold = Statement("end_hold", "DELETE FROM carillon.holds h WHERE h.app_id = $1")

    /// Ends the holds that a worker has written.
    static let endHolds = Statement("end_holds", "DELETE FROM carillon.holds h WHERE h.worker_id = $1")

    /// No token: the caller mints one with the time in the answer, and passes it in the next call.
    static let providerToken = Statement(
        "provider_token",
        "SELECT t.token, t.made_at, t.renews_in, t.clock FROM carillon.provider_token($1, $2, $3, $4, $5) AS t"
    )

    /// The fleet mints no token for the interval that Apple requires between two of them.
    static let restTokens = Statement(
        "rest_tokens",
        """
        UPDATE carillon.provider_tokens p SET rests_until = now() + interval '20 minutes'
        WHERE p.certificate_id = $1 AND (p.rests_until > now() + interval '19 minutes') IS NOT TRUE
        """
    )

    /// Sets the status of a credential, if it has changed. Null leaves it as it is.
    static let judgeCredential = Statement(
        "judge_credential",
        """
        UPDATE carillon.certificates c SET status = n.status, last_error = $3
        FROM (
            SELECT o.id, CASE WHEN $2 = 'ok' AND o.not_after <= now() THEN 'expired'
                WHEN $2 = 'ok' AND o.not_after < now() + interval '30 days' THEN 'expiring'
                ELSE coalesce($2, o.status) END AS status
            FROM carillon.certificates o WHERE o.id = $1
        ) AS n
        WHERE c.id = n.id AND (c.status, c.last_error) IS DISTINCT FROM (n.status, $3)
        """
    )

    /// Records the facts of a credential, once for each text.
    static let recordCredential = Statement(
        "record_credential",
        """
        UPDATE carillon.certificates c SET not_after = $3, topics = $4, last_error = $5, status = CASE
            WHEN $5 IS NOT NULL THEN 'invalid' WHEN $3 <= now() THEN 'expired'
            WHEN $3 <= now() + interval '30 days' THEN 'expiring' ELSE 'ok' END
        WHERE c.id = $1 AND c.updated_at = $2 AND c.status IS NULL
        """
    )

    /// Certificates in use that expire within thirty days.
    static let expiring = Statement(
        "expiring",
        """
        SELECT c.id, c.name, floor(extract(epoch FROM c.not_after - now()) / 86400)::bigint AS days
        FROM carillon.certificates c
        WHERE c.not_after <= now() + interval '30 days'
            AND EXISTS (SELECT FROM carillon.apps a WHERE a.certificate_id = c.id)
        ORDER BY c.id
        """
    )

    /// Sets the status of certificates that expire soon. Locked rows are left for the next time.
    static let ageCredentials = Statement(
        "age_credentials",
        """
        UPDATE carillon.certificates c
        SET status = CASE WHEN c.not_after <= now() THEN 'expired' ELSE 'expiring' END
        WHERE c.id = ANY (ARRAY(
            SELECT o.id FROM carillon.certificates o
            WHERE o.status = 'ok' AND o.not_after <= now() + interval '30 days'
                OR o.status = 'expiring' AND o.not_after <= now()
            FOR NO KEY UPDATE SKIP LOCKED))
        """
    )
}
