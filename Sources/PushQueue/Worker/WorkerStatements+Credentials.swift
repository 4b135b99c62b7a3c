import Postgres

/// What a worker asks and says of credentials, and of apps that cannot send.
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

    /// Takes back all that a worker has said.
    static let endHolds = Statement("end_holds", "DELETE FROM carillon.holds h WHERE h.worker_id = $1")

    /// No token: one has to be minted, with the time that comes along, and brought by asking again.
    static let providerToken = Statement(
        "provider_token",
        "SELECT t.token, t.made_at, t.renews_in, t.clock FROM carillon.provider_token($1, $2, $3, $4, $5) AS t"
    )

    /// The fleet mints nothing for as long as Apple asks for between two tokens.
    static let restTokens = Statement(
        "rest_tokens",
        """
        UPDATE carillon.provider_tokens p SET rests_until = now() + interval '20 minutes'
        WHERE p.certificate_id = $1 AND (p.rests_until > now() + interval '19 minutes') IS NOT TRUE
        """
    )

    /// Writes down how a credential is, if that is news. A null status leaves the one there is.
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

    /// Writes down what a credential says of itself, once for each text that stands in its row.
    static let recordCredential = Statement(
        "record_credential",
        """
        UPDATE carillon.certificates c SET not_after = $3, topics = $4, last_error = $5, status = CASE
            WHEN $5 IS NOT NULL THEN 'invalid' WHEN $3 <= now() THEN 'expired'
            WHEN $3 <= now() + interval '30 days' THEN 'expiring' ELSE 'ok' END
        WHERE c.id = $1 AND c.updated_at = $2 AND c.status IS NULL
        """
    )

    /// Certificates in use that end within thirty days, with the days that are left.
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

    /// Has the rows of certificates that end soon say so. Rows that somebody has locked are left for the next time.
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
