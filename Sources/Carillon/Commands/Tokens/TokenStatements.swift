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

    /// The columns of `TokenDetails` too, for a batch in which a line has any.
    static let details = """
        ALTER TABLE pg_temp.carillon_import ADD line bigint, \(columns { "ADD \($0) text" })
        """

    /// Removes the lines whose details PostgreSQL does not accept. Text that is not JSON becomes a string, which is refused.
    static let refused = Statement(
        "tokens_refused",
        """
        WITH zones AS MATERIALIZED (
            SELECT z.time_zone AS zone FROM (SELECT DISTINCT i.time_zone FROM pg_temp.carillon_import i) z
            WHERE carillon.time_zone(z.time_zone) IS NOT NULL
        ), checked AS MATERIALIZED (
            SELECT i.line, carillon.check_details(i.environment, i.activity_type, CASE WHEN z.zone IS NULL THEN i.time_zone END,
                i.locale, coalesce(carillon.jsonb_or_null(i.attributes), to_jsonb(i.attributes))) AS refusal
            FROM pg_temp.carillon_import i LEFT JOIN zones z ON z.zone = i.time_zone WHERE i.line IS NOT NULL
        ), gone AS (
            DELETE FROM pg_temp.carillon_import i USING checked c WHERE c.line = i.line AND (c.refusal).message IS NOT NULL
            RETURNING i.*, (c.refusal).message, to_jsonb(i) ->> (c.refusal).argument AS culprit
        )
        SELECT g.line, g.message, g.culprit, g.token, (extract(epoch FROM g.last_update) * 1000000)::int8::text,
            g.owner, g.kind, \(columns { "g.\($0)" })
        FROM gone g ORDER BY g.line
        """
    )

    static let merge = merging("tokens_merge")

    static let mergeDetails = merging(
        "tokens_merge_details",
        Detail.all,
        newest: """
            , i.environment, i.activity_type, z.name AS time_zone, carillon.locale(i.locale) AS locale, i.attributes::jsonb
            """,
        from: """
            LEFT JOIN (
                SELECT d.time_zone AS given, carillon.time_zone(d.time_zone) AS name
                FROM (SELECT DISTINCT o.time_zone FROM pg_temp.carillon_import o WHERE o.time_zone IS NOT NULL) d
            ) z ON z.given = i.time_zone
            """
    )

    private static func columns(_ text: (String) -> String) -> String {
        TokenDetails.names.map(text).joined(separator: ", ")
    }

    /// What a merge does with a column of `TokenDetails`: the newer value is kept, or the only one. Attributes may be about the
    /// owner.
    private struct Detail {
        let name: String

        static let all = TokenDetails.names.map { Detail(name: $0) }

        private func unlessOfAnother(_ old: String, _ new: String, _ value: String) -> String {
            name == "attributes" ? "CASE WHEN (\(old).owner <> \(new).owner) IS NOT TRUE THEN \(value) END" : value
        }

        var changes: String {
            """
             OR n.\(name) <> k.\(name) AND n.last_update = k.last_update
             OR \(unlessOfAnother("k", "n", "n.\(name)")) IS NOT NULL AND k.\(name) IS NULL
            """
        }

        var merged: String {
            let (old, new) = ("t.\(name)", "excluded.\(name)")
            return """
                , \(name) = CASE WHEN excluded.last_update >= t.last_update
                    THEN coalesce(\(new), \(unlessOfAnother("t", "excluded", old)))
                    ELSE coalesce(\(old), \(unlessOfAnother("t", "excluded", new))) END
                """
        }
    }

    /// In the order of the tokens, like every statement that locks many of them. Rows that would not change are left out.
    private static func merging(
        _ name: String,
        _ details: [Detail] = [],
        newest: String = "",
        from: String = ""
    ) -> Statement {
        func each(_ text: (Detail) -> String) -> String { details.map(text).joined() }
        let attributes = """
            , attributes = CASE WHEN (excluded.last_update >= t.last_update AND excluded.owner <> t.owner) IS NOT TRUE
                THEN t.attributes END
            """
        return Statement(
            name,
            """
            WITH app AS MATERIALIZED (SELECT carillon.app_id($1) AS id), newest AS (
                SELECT i.token, i.owner, i.kind, coalesce(i.last_update, now()) AS last_update\(newest)
                FROM pg_temp.carillon_import i \(from)
            ), written AS (
                INSERT INTO carillon.tokens AS t (app_id, token, last_update, owner, kind, expires_at\(each { ", \($0.name)" }))
                SELECT app.id, n.token, n.last_update, n.owner, coalesce(n.kind, k.kind, 'device'),
                    carillon.usual_end(coalesce(n.kind, k.kind), n.last_update)\(each { ", n.\($0.name)" })
                FROM newest n CROSS JOIN app LEFT JOIN LATERAL (
                    SELECT k.last_update, k.owner, k.kind\(each { ", k.\($0.name)" }) FROM carillon.tokens k
                    WHERE k.app_id = app.id AND k.token = n.token COLLATE "default" LIMIT 1
                ) k ON true
                WHERE k.last_update IS NULL OR n.last_update > k.last_update
                    OR n.owner <> k.owner AND n.last_update = k.last_update OR n.owner IS NOT NULL AND k.owner IS NULL
                    OR n.kind <> k.kind AND n.last_update = k.last_update\(each(\.changes))
                ORDER BY n.token
                ON CONFLICT (app_id, token) DO UPDATE SET
                    last_update = greatest(t.last_update, excluded.last_update),
                    owner = CASE WHEN excluded.last_update >= t.last_update THEN coalesce(excluded.owner, t.owner)
                        ELSE coalesce(t.owner, excluded.owner) END,
                    kind = CASE WHEN excluded.last_update >= t.last_update THEN excluded.kind ELSE t.kind END,
                    expires_at = CASE WHEN excluded.last_update >= t.last_update THEN excluded.expires_at
                        ELSE t.expires_at END\(details.isEmpty ? attributes : each(\.merged))
                RETURNING (xmax = 0) AS is_new
            )
            SELECT count(*) FILTER (WHERE is_new) AS new, count(*) FILTER (WHERE NOT is_new) AS changed FROM written
            """
        )
    }
}
