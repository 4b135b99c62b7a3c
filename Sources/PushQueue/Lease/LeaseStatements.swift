import CarillonIO
import CarillonPostgres

/// The statements that keep a worker alive in the eyes of the others, and take over claims. Each is a transaction of its own.
enum LeaseStatements {
    static let installation = Statement("installation", "SELECT i.id FROM carillon.installation i")

    static let register = Statement(
        "register",
        """
        INSERT INTO carillon.workers (name, host, pid, version, lease_until, started_at)
        VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5), now() - make_interval(secs => $6)) RETURNING id
        """
    )

    /// - Parameter age: How long the worker has run, under earlier ids too.
    static func parameters(registering options: WorkerOptions, age: Duration) -> Parameters {
        Parameters(options.name, options.host, options.processID, options.version, options.lease.seconds, age.seconds)
    }

    /// Extends the lease, counts the workers, dead ones too until a takeover, and notes the traffic, for people. Null: this worker was
    /// declared dead. The worker is awake, whatever a question that was lost with its connection has written since.
    static let heartbeat = renewal("heartbeat")

    /// The heartbeat with which a worker wakes. The first claim may wait behind it on the same connection, so its commit does not
    /// wait for the disk: if a crash of PostgreSQL undoes it, the others see a heartbeat that they have not seen before.
    static let wake = renewal("wake", where: " AND set_config('synchronous_commit', 'off', true) IS NOT NULL")

    private static func renewal(_ name: String, where condition: String = "") -> Statement {
        Statement(
            name,
            """
            WITH renewed AS (
                UPDATE carillon.workers w
                SET beat = w.beat + 1, heartbeat_at = now(), lease_until = now() + make_interval(secs => $2),
                    waits = $3, answers = $4, connections = $5, settles_by = now() + make_interval(secs => $6),
                    asleep_since = NULL
                WHERE w.id = $1\(condition) RETURNING w.id
            )
            SELECT (SELECT 1 + (SELECT count(*) FROM carillon.workers w WHERE w.id <> $1) FROM renewed) AS workers,
                p.fault, p.cluster, p.timeline, p.flushed
            FROM carillon.installation_state() AS p
            """
        )
    }

    /// - Parameter settlingTime: How long it has before it counts as stuck. Nil if it has no claim.
    static func parameters(
        renewing worker: Int64,
        for lease: Duration,
        noting traffic: (waits: [Int64], answers: [Int64], connections: Int),
        settlingWithin settlingTime: Duration?
    ) -> Parameters {
        Parameters(
            worker,
            lease.seconds,
            PostgresArray(traffic.waits),
            PostgresArray(traffic.answers),
            Int32(clamping: traffic.connections),
            settlingTime?.seconds
        )
    }

    /// The heartbeats and leases of all other workers.
    static let heartbeats = Statement(
        "heartbeats",
        """
        SELECT w.id, w.beat, (extract(epoch FROM w.lease) * 1000000)::bigint AS lease, w.lease_until < now() AS looks_dead
        FROM carillon.worker_status w WHERE w.id <> $1
        """
    )

    /// Returns whether the row is gone. A worker that took this one for dead may have deleted it.
    static let signOff = Statement(
        "sign_off",
        """
        WITH gone AS (
            DELETE FROM carillon.workers w WHERE w.id = $1
                AND NOT EXISTS (SELECT FROM carillon.inflight f WHERE f.worker_id = $1) RETURNING w.id
        )
        SELECT EXISTS (SELECT FROM gone) OR NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = $1)
        """
    )

    static let takeOver = Statement(
        "take_over",
        "SELECT t.workers, t.claims, t.jobs FROM carillon.take_over($1, $2) AS t"
    )

    /// - Parameter dead: If nil, only claims of workers without a row.
    static func parameters(takingOverFrom dead: HeartbeatState.Sighting?) -> Parameters {
        Parameters(dead?.worker ?? 0, dead?.beat)
    }

    /// Whether there are claims of workers without a row.
    static let hasOrphans = Statement("has_orphans", "SELECT EXISTS (SELECT FROM carillon.gone_workers())")
}

extension HeartbeatState.Sighting {
    /// A row of `heartbeats`.
    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        self.init(
            worker: try rows.int64(row, "id"),
            beat: try rows.int64(row, "beat"),
            lease: .microseconds(try rows.int64(row, "lease")),
            looksDead: try rows.bool(row, "looks_dead")
        )
    }
}
