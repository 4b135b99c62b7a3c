import CarillonIO
package import CarillonPostgres
import CarillonText

/// A session or a prepared transaction whose locks, or whose wait for a lock, block workers or applications.
package struct LockHolder: Equatable, Decodable, Sendable {
    /// As in "process 4242 (psql, user bob, idle in transaction)" or "the prepared transaction 'a'".
    package let who: String
    /// Nil for a prepared transaction.
    package let pid: Int32?
    /// Tables of schema carillon.
    package let relations: String
    /// It has locked tables against all writers. Otherwise it may have locked rows, unless `waitsBehind` is set.
    package let locksTables: Bool
    /// If it waits to lock a table against all writers, those it waits for: "process 4241". All writers wait behind it.
    package let waitsBehind: String?
    /// The age of its transaction, or nil if this user may not see it; of its wait, if `waitsBehind` is set.
    package let seconds: Double?
    /// How many sessions have waited for it longer than three seconds.
    package let waiting: Int64

    /// "process 4242 (psql, user bob, idle in transaction) has locked carillon.results for 34s, and 2 sessions wait for it".
    package var sentence: String {
        var text = "\(who) \(deed) \(relations)"
        if let seconds {
            let age: Duration = seconds < 1 ? .milliseconds(Int64(seconds * 1000)) : .seconds(Int64(seconds))
            text += " for \(DurationText.write(age))"
        }
        if let waitsBehind { text += " behind \(waitsBehind)" }
        if waiting > 0 { text += ", and \(Counted.text(waiting, "session")) \(waiting == 1 ? "waits" : "wait") for it" }
        return text
    }

    private var deed: String {
        if waitsBehind != nil { return "has waited to lock" }
        return locksTables ? "has locked" : "may have locked rows of"
    }
}

extension LockHolder {
    /// Holders of locks on table `$2`, or on any, that others wait for or whose transaction is older than `$1` seconds.
    ///
    /// Row locks of other sessions cannot be seen, so every transaction that has written to the table may hold some. If this
    /// user may not see the age of a transaction, it counts only when the table is given. A session that waits for a lock
    /// itself is left out unless others wait for it, since the holder of that lock is the cause. But one that has waited
    /// that long to lock a table is there: later statements queue behind it, even if it waits for a mere reader.
    package static let statement = Statement(
        "lock_holders",
        """
        WITH held AS (
            SELECT l.pid, l.virtualtransaction AS transaction, NOT l.granted AS is_request, min(l.waitstart) AS waits_since,
                l.granted AND l.mode NOT IN ('RowShareLock', 'RowExclusiveLock') AS locks_tables,
                coalesce(string_agg(DISTINCT 'carillon.' || c.relname, ', ') FILTER (WHERE NOT c.relispartition),
                    min('carillon.' || c.relname)) AS relations
            FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_database d ON d.oid = l.database
            WHERE l.locktype = 'relation' AND l.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
                AND (l.granted OR l.mode NOT IN ('RowShareLock', 'RowExclusiveLock'))
                AND d.datname = current_database() AND n.nspname = 'carillon' AND c.relkind IN ('r', 'p')
                AND l.pid IS DISTINCT FROM pg_backend_pid() AND ($2::text IS NULL OR c.relname = $2)
            GROUP BY 1, 2, 3, 5
        ), waiting AS (
            SELECT b.pid, count(*) AS sessions FROM (
                SELECT DISTINCT l.pid FROM pg_locks l
                WHERE NOT l.granted AND l.waitstart < clock_timestamp() - interval '3 seconds' LIMIT 100
            ) w CROSS JOIN LATERAL (SELECT DISTINCT unnest(pg_blocking_pids(w.pid))) AS b(pid)
            GROUP BY b.pid
        ), holder AS (
            SELECT DISTINCT ON (h.pid, h.transaction)
                CASE WHEN p.gid IS NOT NULL THEN format('the prepared transaction %L', p.gid)
                    ELSE format('process %s (%s)', h.pid,
                        concat_ws(', ', nullif(a.application_name, ''), 'user ' || a.usename, a.state)) END AS who,
                h.pid, h.relations, h.locks_tables, h.is_request, coalesce(w.sessions, 0) AS sessions,
                extract(epoch FROM clock_timestamp() - CASE WHEN h.is_request THEN h.waits_since
                    ELSE coalesce(p.prepared, a.xact_start) END)::float8 AS seconds,
                (a.backend_xid IS NOT NULL AND NOT EXISTS (
                    SELECT FROM pg_locks l WHERE l.pid = h.pid AND NOT l.granted)) OR p.gid IS NOT NULL AS may_hold_rows,
                coalesce(a.application_name, '') LIKE 'carillon %' AS is_ours
            FROM held h
            LEFT JOIN pg_stat_activity a ON a.pid = h.pid
            LEFT JOIN pg_locks x ON h.pid IS NULL AND x.pid IS NULL AND x.virtualtransaction = h.transaction
                AND x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock'
            LEFT JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
            LEFT JOIN waiting w ON w.pid = h.pid
            ORDER BY h.pid, h.transaction, h.locks_tables DESC, h.is_request DESC
        )
        SELECT h.who, h.pid, h.relations, h.locks_tables, h.seconds, h.sessions AS waiting, CASE WHEN h.is_request THEN coalesce((
                SELECT string_agg(DISTINCT coalesce('process ' || nullif(b.pid, 0), 'a prepared transaction'), ', ')
                FROM unnest(pg_blocking_pids(h.pid)) AS b(pid)), 'others') END AS waits_behind
        FROM holder h
        WHERE h.sessions > 0 OR CASE WHEN h.seconds IS NULL THEN h.locks_tables OR $2 IS NOT NULL AND NOT h.is_ours
            ELSE h.seconds > $1 AND (h.locks_tables OR h.is_request OR h.may_hold_rows) END
        ORDER BY h.sessions DESC, h.locks_tables DESC, h.seconds DESC NULLS LAST LIMIT 5
        """
    )

    package static func parameters(olderThan age: Duration, relation: String? = nil) -> Parameters {
        Parameters(age.seconds, relation)
    }
}
