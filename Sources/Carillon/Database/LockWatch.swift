import CarillonIO
import CarillonPostgres
import CarillonText

/// Reports which session's lock a command is waiting for. It uses a connection of its own, because the command's own is
/// blocked.
///
/// Some statements wait for 100 ms at a time, with pauses of up to half a second: see `lock_tables.sql` and `LockPace`. So each
/// round polls every 25 ms for two seconds.
struct LockWatch: Sendable {
    let invocation: Invocation
    let database: DatabaseSource
    let loop: EventLoop
    /// The server process of the command's connection. Unknown behind a pooler.
    let process: Int32

    private static let interval = Duration.milliseconds(25)
    private static let questions = 80

    /// Waits for short transactions are not reported. If this user may not see how old a transaction is, it counts as old.
    private static let statement = Statement(
        "lock_watch",
        """
        SELECT coalesce(format('process %s (%s)', b.pid,
            concat_ws(', ', nullif(a.application_name, ''), 'user ' || a.usename, a.state)), 'a prepared transaction')
        FROM unnest(pg_blocking_pids($1)) AS b(pid) LEFT JOIN pg_stat_activity a ON a.pid = b.pid
        WHERE coalesce(a.xact_start < clock_timestamp() - interval '1 second', true)
            AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = $1 AND NOT l.granted
                AND l.waitstart < clock_timestamp() - interval '50 milliseconds')
        ORDER BY b.pid LIMIT 3
        """
    )

    /// Polls until it is cancelled, at growing intervals.
    func run() async {
        var rounds = 0
        var told: [String] = []
        while !Task.isCancelled {
            do {
                try await loop.sleep(for: BackOff(from: .seconds(1), to: .seconds(60), after: rounds - 3).maxWait)
                rounds += 1
                let holders = try await self.holders()
                guard !holders.isEmpty, holders != told else { continue }
                told = holders
                invocation.console.note(
                    "Waiting for a lock, which \(Counted.list(holders)) \(holders.count == 1 ? "holds" : "hold"). "
                        + "It continues when that transaction ends, and fails if that takes long; Ctrl-C gives up."
                )
            } catch {
                // Errors are ignored: the command reports its own outcome, and this is only a hint.
                continue
            }
        }
    }

    private func holders() async throws -> [String] {
        let parameters = Parameters(process)
        return try await DatabaseScope.with(database, on: loop, application: "carillon locks") { connection in
            for _ in 0..<Self.questions {
                let holders: [String] = try await connection.values(of: Self.statement, parameters)
                if !holders.isEmpty { return holders }
                try await loop.sleep(for: Self.interval)
            }
            return []
        }
    }
}
