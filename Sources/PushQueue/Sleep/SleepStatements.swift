import CarillonIO
import CarillonPostgres

/// The statements of a worker that sleeps. Each is a transaction of its own.
enum SleepStatements {
    static let channel = "carillon_work"

    /// Asks whether the worker may sleep or, while it sleeps, whether it may go on.
    static let ask = Statement(
        "fall_asleep",
        """
        SELECT a.* FROM carillon.fall_asleep(
            $1, $2, string_to_array($3, ','), $4::bigint[], $5::integer[], $6::text[], $7::float8[]) AS a
        """
    )

    /// The transactions that the worker waits for are one text, because an array cannot be null.
    static func parameters(askingFor state: WorkerState) -> Parameters {
        let tasks = state.maintenance.awaited
        return Parameters(
            state.lease.id,
            state.sleep.lease.seconds,
            state.sleep.holders?.joined(separator: ","),
            PostgresArray(state.apps.fingerprint),
            PostgresArray(state.unsendable),
            PostgresArray(tasks.map(\.name)),
            PostgresArray(tasks.map { $0.interval?.seconds })
        )
    }

    /// From now on, transactions do not notify. The other workers look whether they have to watch this one, unless they have just
    /// been called too. The commit does not wait for the disk: after a crash of PostgreSQL, every worker is awake.
    static let clear = Statement(
        "clear_asleep",
        """
        SELECT setval('carillon.asleep', 1), CASE WHEN $1::boolean THEN pg_notify('\(channel)', '') END
        FROM set_config('synchronous_commit', 'off', true) WHERE pg_sequence_last_value('carillon.asleep') > 1
        """
    )
}
