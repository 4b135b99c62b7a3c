import CarillonPostgres

/// The statements that insert a batch of new tokens, or merge a batch with the tokens of an app.
enum TokenStatements {
    static let app = Statement("tokens_app", "SELECT carillon.app_id($1)")

    /// While row-level security limits the user, PostgreSQL refuses to copy into the table.
    static let target = Statement(
        "tokens_target",
        """
        SELECT carillon.app_id($1) AS app, now() AS time, NOT row_security_active('carillon.tokens') AS takes_copies
        """
    )

    static let insert = "COPY carillon.tokens (app_id, token, last_update, owner) FROM STDIN (FORMAT binary)"

    /// The table lasts for the transaction, so that it works behind a pooler. It has no statistics: without these settings the
    /// planner may read all tokens instead of searching for each, and sort on disk. It has a row for each token.
    static let table = """
        SET LOCAL enable_seqscan = off;
        SET LOCAL work_mem = '32MB';
        CREATE TEMPORARY TABLE pg_temp.carillon_import (
            token text COLLATE "C", last_update timestamptz, owner text, kind text
        ) ON COMMIT DROP
        """

    static let copy = "COPY pg_temp.carillon_import FROM STDIN (FORMAT binary)"

    /// In the order of the tokens, like every statement that locks many of them. Rows that would not change are left out.
    static let merge = Statement(
        "tokens_merge",
        """
        WITH app AS MATERIALIZED (SELECT carillon.app_id($1) AS id), newest AS (
            SELECT i.token, i.owner, i.kind, coalesce(i.last_update, now()) AS last_update FROM pg_temp.carillon_import i
        ), written AS (
            INSERT INTO carillon.tokens AS t (app_id, token, last_update, owner, kind, expires_at)
            SELECT app.id, n.token, n.last_update, n.owner, coalesce(n.kind, k.kind, 'device'),
                carillon.usual_end(coalesce(n.kind, k.kind), n.last_update)
            FROM newest n CROSS JOIN app LEFT JOIN LATERAL (
                SELECT k.last_update, k.owner, k.kind FROM carillon.tokens k
                WHERE k.app_id = app.id AND k.token = n.token COLLATE "default" LIMIT 1
            ) k ON true
            WHERE k.last_update IS NULL OR n.last_update > k.last_update
                OR n.owner <> k.owner AND n.last_update = k.last_update OR n.owner IS NOT NULL AND k.owner IS NULL
                OR n.kind <> k.kind AND n.last_update = k.last_update
            ORDER BY n.token
            ON CONFLICT (app_id, token) DO UPDATE SET
                last_update = greatest(t.last_update, excluded.last_update),
                owner = CASE WHEN excluded.last_update >= t.last_update THEN coalesce(excluded.owner, t.owner)
                    ELSE coalesce(t.owner, excluded.owner) END,
                kind = CASE WHEN excluded.last_update >= t.last_update THEN excluded.kind ELSE t.kind END,
                expires_at = CASE WHEN excluded.last_update >= t.last_update THEN excluded.expires_at
                    ELSE t.expires_at END
            RETURNING (xmax = 0) AS is_new
        )
        SELECT count(*) FILTER (WHERE is_new) AS new, count(*) FILTER (WHERE NOT is_new) AS changed FROM written
        """
    )
}
