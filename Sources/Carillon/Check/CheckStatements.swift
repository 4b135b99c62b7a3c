import Postgres

/// What `carillon check` asks the database.
enum CheckStatements {
    static let user = Statement("check_user", "SELECT current_user::text")
    static let now = Statement("check_now", "SELECT clock_timestamp()")

    /// What a worker needs and this user does not have.
    static let missingRights = Statement(
        "check_rights",
        """
        SELECT n.rights || ' on carillon.' || n.relation
        FROM (VALUES ('installation', 'SELECT'), ('apps', 'SELECT'), ('certificates', 'SELECT'),
            ('messages', 'SELECT'), ('messages', 'INSERT'), ('messages', 'DELETE'), ('scheduled', 'SELECT'),
            ('scheduled', 'INSERT'), ('scheduled', 'DELETE'), ('inflight', 'SELECT'), ('inflight', 'INSERT'),
            ('inflight', 'DELETE'), ('workers', 'SELECT'), ('workers', 'INSERT'), ('workers', 'UPDATE'),
            ('workers', 'DELETE'), ('unfinished', 'INSERT'), ('activity', 'INSERT'), ('activity', 'UPDATE'),
            ('chores', 'UPDATE'), ('results', 'INSERT'), ('failures', 'INSERT'), ('feedback', 'INSERT'),
            ('feedback', 'UPDATE'), ('tokens', 'DELETE')
        ) AS n(relation, rights)
        WHERE NOT has_table_privilege('carillon.' || n.relation, n.rights)
        """
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

    /// Who holds back the vacuum horizon of this database, and since when; the oldest first.
    static let horizon = Statement(
        "check_horizon",
        """
        SELECT h.what, h.seconds FROM (
            SELECT 'the transaction of process ' || a.pid || coalesce(' (' || nullif(a.application_name, '') || ')', '')
                AS what, extract(epoch FROM now() - a.xact_start)::float8 AS seconds
            FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL
                AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.backend_type = 'client backend'
            UNION ALL
            SELECT 'the prepared transaction ' || p.gid, extract(epoch FROM now() - p.prepared)::float8
            FROM pg_prepared_xacts p WHERE p.database = current_database()
            UNION ALL
            SELECT 'the replication slot ' || r.slot_name, age(r.xmin) / 100.0
            FROM pg_replication_slots r WHERE r.xmin IS NOT NULL AND NOT r.active
        ) AS h ORDER BY h.seconds DESC LIMIT 1
        """
    )
}
