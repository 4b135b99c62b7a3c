import CarillonPostgres

enum CheckStatements {
    /// The role and the login, as a remedy names them.
    static let user = Statement("check_user", "SELECT quote_ident(current_user), quote_ident(session_user)")
    static let now = Statement("check_now", "SELECT clock_timestamp()")

    /// The last minute in which pushes were counted, if by the clock it is still to come; the seconds until then, and how many
    /// retries, of a thousand at most, are due later than that.
    static let setBack = Statement(
        "check_set_back",
        """
        SELECT l.minute::text AS minute, ceil(extract(epoch FROM l.minute - clock_timestamp()))::int8 AS seconds, (
            SELECT count(*) FROM (
                SELECT FROM carillon.scheduled s WHERE s.attempt > 1 AND s.run_at >= l.minute LIMIT 1000
            ) AS r
        ) AS retries FROM (
            SELECT max(c.minute) AS minute FROM carillon.apps a, LATERAL (
                SELECT p.minute FROM carillon.push_counts p WHERE p.app_id = a.id ORDER BY p.minute DESC LIMIT 1
            ) AS c
        ) AS l WHERE l.minute > clock_timestamp() + interval '5 s'
        """
    )

    private static let seesAll = Statement("check_sees_all", "SELECT pg_has_role('pg_read_all_stats', 'USAGE')")

    /// The end of a sentence about all sessions: what of other users this login does not see.
    static func end(without unseen: String, on connection: PostgresConnection) async throws -> String {
        let seesAll = try await connection.query(Self.seesAll) { rows in try rows.bool(0, 0) }
        return seesAll ? "." : "; \(unseen) of other users are seen only with pg_read_all_stats."
    }

    /// The rights that a worker needs and this login does not have.
    static let missingRights = Statement(
        "check_rights",
        "SELECT m FROM carillon.missing_rights('carillon_worker', current_user) AS m"
    )

    /// The rights that the migrations granted and somebody has revoked.
    static let missingGrants = Statement(
        "check_grants",
        """
        SELECT m.missing || ' for ' || r.role FROM (SELECT DISTINCT r.role FROM carillon.recorded_rights r) AS r,
            carillon.missing_rights(r.role::name) AS m(missing) ORDER BY 1
        """
    )

    /// The columns whose content is secret, by table; none for the views, always empty, through which secrets are written. The
    /// digest of an API token is not secret, because nobody can make the token from it.
    static let secrets: [(table: String, columns: [String])] = [
        (table: "certificates", columns: ["certificate", "private_key", "passphrase"]),
        (table: "provider_tokens", columns: ["jwt"]), (table: "webhooks", columns: ["secret", "old_secret"]),
        (table: "export_tokens", columns: ["token"]), (table: "credential_input", columns: []),
        (table: "provider_token_input", columns: []), (table: "export_token_input", columns: []),
    ]
    private static let secretColumns =
        secrets.map { "('\($0.table)', '{\($0.columns.joined(separator: ","))}'::name[])" }.joined(separator: ", ")
    private static let secretTables = secrets.map { "carillon.\($0.table)" }.joined(separator: ", ")

    /// Who else than the schema's owner and workers may read secrets, and the command that ends it; a row for each way. A trigger
    /// sees what is written. There is no command for rights that the owner gives to each new table, which may be meant for others.
    static let keyReaders = Statement(
        "check_keys",
        """
        WITH allowed AS (
            SELECT 'grant' AS way, g.grantee AS role FROM (
                VALUES \(secretColumns)
            ) AS s(relation, columns)
            JOIN pg_class c ON c.relnamespace = 'carillon'::regnamespace AND c.relname = s.relation CROSS JOIN LATERAL (
                SELECT a.grantee FROM aclexplode(c.relacl) AS a
                WHERE a.privilege_type = 'TRIGGER' OR a.privilege_type = 'SELECT' AND s.columns <> '{}'
                UNION ALL
                SELECT a.grantee FROM pg_attribute t CROSS JOIN LATERAL aclexplode(t.attacl) AS a
                WHERE t.attrelid = c.oid AND t.attname = ANY (s.columns) AND a.privilege_type = 'SELECT'
            ) AS g
            UNION ALL
            SELECT 'membership', m.member FROM pg_auth_members m WHERE m.roleid = 'pg_read_all_data'::regrole
            UNION ALL
            SELECT 'default', a.grantee FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) AS a
            WHERE d.defaclrole = (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'carillon')
                AND d.defaclobjtype = 'r' AND d.defaclnamespace IN (0, 'carillon'::regnamespace)
                AND a.privilege_type IN ('SELECT', 'TRIGGER')
                -- From these, an upgrade revokes what it does not grant.
                AND a.grantee <> 0 AND a.grantee::regrole::name <> ALL (carillon.roles_of_all_apps()
                    || '{carillon_tenant,carillon_reaper}'::name[])
        ), reader AS (
            SELECT DISTINCT a.way, coalesce(quote_ident(r.rolname), 'PUBLIC') AS role,
                EXISTS (SELECT FROM pg_auth_members m WHERE m.roleid = a.role) AS has_members
            FROM allowed a LEFT JOIN pg_roles r ON r.oid = a.role
            WHERE a.role = 0 OR NOT (pg_has_role(a.role, 'carillon_worker', 'MEMBER') OR pg_has_role(
                a.role, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'carillon'), 'MEMBER'))
        )
        SELECT r.way, array_agg(r.role || CASE WHEN r.has_members THEN ' with its members' ELSE '' END ORDER BY r.role) AS readers,
            CASE r.way WHEN 'grant' THEN 'REVOKE ALL ON \(secretTables) FROM ' || string_agg(r.role, ', ' ORDER BY r.role) || ' CASCADE'
                WHEN 'membership' THEN 'REVOKE pg_read_all_data FROM ' || string_agg(r.role, ', ' ORDER BY r.role) ELSE '' END AS command
        FROM reader r GROUP BY r.way ORDER BY r.way
        """
    )

    /// The apps of isolated roles that no longer exist or have lost their rights, and the statement that mends it. A null name means
    /// that there is no such role.
    static let isolation = Statement(
        "check_isolation",
        """
        SELECT a.name AS app, o.rolname::text AS role, CASE WHEN o.oid IS NULL
            THEN format('SELECT carillon.unisolate_app(%L, %L)', a.name, r.role::oid::text)
            ELSE format('SELECT carillon.isolate_app(%L, %L)', a.name, o.rolname) END AS command
        FROM carillon.app_roles r JOIN carillon.apps a ON a.id = r.app_id LEFT JOIN pg_roles o ON o.oid = r.role::oid
        WHERE o.oid IS NULL OR NOT pg_has_role(o.oid, 'carillon_tenant', 'MEMBER') ORDER BY o.oid IS NULL, a.name, r.role
        """
    )

    /// What lets isolated roles see other apps, with the roles concerned and the statement that mends it. No row if there is nothing.
    static let openIsolation = Statement(
        "check_open_isolation",
        """
        SELECT h.hole, r.roles, 'SELECT carillon.enforce_isolation(true)' AS command FROM (
            SELECT 'row-level security is off on carillon.' || c.relname AS hole FROM pg_class c
            WHERE c.relnamespace = 'carillon'::regnamespace AND NOT c.relrowsecurity
                AND c.relname = ANY (carillon.guarded_tables())
            UNION ALL
            SELECT 'is_guarded of the app ' || a.name || ' is false' FROM carillon.apps a WHERE NOT a.is_guarded
        ) AS h, (SELECT array_agg(DISTINCT a.role::text ORDER BY a.role::text) AS roles FROM carillon.app_roles a) AS r
        WHERE r.roles IS NOT NULL
        UNION ALL
        SELECT w.member || CASE WHEN w.bypasses THEN ' bypasses row-level security' ELSE ' is a member of ' || w.role END,
            ARRAY[w.member::text], CASE WHEN w.bypasses THEN format('ALTER ROLE %s NOSUPERUSER NOBYPASSRLS', w.member)
                ELSE format('REVOKE %I FROM %s, or from the role through which it is a member', w.role, w.member) END
        FROM (
            SELECT DISTINCT a.role AS member, o.rolsuper OR o.rolbypassrls AS bypasses, carillon.wider_role(o.oid) AS role
            FROM carillon.app_roles a JOIN pg_roles o ON o.oid = a.role::oid
        ) AS w WHERE w.bypasses OR w.role IS NOT NULL
        ORDER BY 1
        """
    )

    /// Why triggers of watched tables would run with more rights than they should, and how to fix it.
    static let unsafeReaper = Statement("check_reaper", "SELECT u.message, u.hint FROM carillon.unsafe_reaper() AS u")

    /// Consumers that have left events untaken for a day.
    static let abandoned = Statement(
        "check_consumers",
        """
        SELECT c.app, c.consumer, c.events, c.lag_seconds::int8 AS seconds,
            format('SELECT carillon.unsubscribe(%L, %L)', c.app, c.consumer) AS command
        FROM carillon.consumers c WHERE c.lag_seconds >= 86400 AND c.consumer NOT LIKE 'webhook:%' ORDER BY c.lag_seconds DESC, c.app, c.consumer
        """
    )

    static let takesWrites = Statement(
        "check_writes",
        "SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'"
    )

    static let durability = Statement(
        "check_durability",
        """
        SELECT s.name FROM pg_settings s
        WHERE s.name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND s.setting = 'off' ORDER BY s.name
        """
    )

    static let autovacuum = Statement(
        "check_autovacuum",
        """
        SELECT 'autovacuum is off on the whole server' FROM pg_settings s WHERE s.name = 'autovacuum' AND s.setting = 'off'
        UNION ALL
        SELECT 'carillon.' || c.relname || CASE WHEN 'autovacuum_enabled=false' = ANY (c.reloptions)
            THEN ' is left out of autovacuum' ELSE ' has lost its own settings for autovacuum' END
        FROM pg_class c WHERE c.oid IN ('carillon.messages'::regclass, 'carillon.scheduled'::regclass)
            AND ('autovacuum_enabled=false' = ANY (c.reloptions)
                OR NOT coalesce(array_to_string(c.reloptions, ' ') LIKE '%autovacuum_vacuum_scale_factor%', false))
        """
    )
}
