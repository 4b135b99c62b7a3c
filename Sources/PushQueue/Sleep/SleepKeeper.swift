import CarillonIO
import CarillonPostgres
import CarillonSchema

/// Has PostgreSQL call the worker, asks whether it may sleep, and tells the fleet when it wakes. `SleepState` decides.
final class SleepKeeper {
    private let context: WorkerContext
    private let database: WorkerDatabase
    private let lease: LeaseKeeper

    init(_ context: WorkerContext, _ database: WorkerDatabase, _ lease: LeaseKeeper) {
        self.context = context
        self.database = database
        self.lease = lease
    }

    /// Has PostgreSQL call the worker on this connection while it sleeps. A worker that cannot be called does not sleep: one with
    /// `once`, or behind a pooler, which would listen in a session of somebody else.
    func listen(on connection: PostgresConnection) async {
        var canBeNotified = false
        if !context.options.once, await !connection.isPooled {
            let bell = context.callBell
            do throws(PostgresError) {
                try await connection.listen(to: SleepStatements.channel) { bell.ring() }
                canBeNotified = true
            } catch {
                database.logError(error)
            }
        }
        context.event { $0.sleep.connected(canBeNotified: canBeNotified) }
    }

    /// Has the worker look soon after each notification.
    func keepHearing() async {
        for await _ in context.callBell.rings where context.event({ $0.sleep.called() }) { context.lookBell.ring() }
    }

    /// Asks whether the worker may sleep, or go on sleeping. Returns the wait before the next run, and whether there is work.
    func ask(on connection: PostgresConnection) async throws(PostgresError) -> (Duration?, Bool) {
        let known = context.state.wal.last
        let askedAt = MonotonicInstant.now
        let parameters = SleepStatements.parameters(askingFor: context.state)
        let (rows, sighting) = try await database.ask(connection, SleepStatements.ask, parameters) { rows in
            (try SleepRows(rows), try InstallationSighting(rows))
        }
        try await database.saw(sighting, since: known)
        let (wait, dead) = context.event { $0.sleepReturned(rows, askedAt: askedAt, at: .now) }
        lease.sawDead(dead)
        return (wait, rows.hasWork)
    }

    /// Tells the fleet that the worker is awake.
    func wake(on connection: PostgresConnection) async throws(PostgresError) {
        try await lease.renewLease(by: LeaseStatements.wake, on: connection)
    }

    /// Clears the flag that a worker is asleep.
    func clear(on connection: PostgresConnection) async throws(PostgresError) {
        try await connection.execute(SleepStatements.clear, Parameters(context.state.sleep.wokeByItself))
    }

    /// The worker is about to end. It may be the last one, or the only one that waits for transactions that will not notify: sleepers
    /// that are called set the flag again and read those transactions afresh.
    func signOff(on connection: PostgresConnection) async throws(PostgresError) {
        if context.state.sleep.isPossible { try await connection.execute(SleepStatements.clear, Parameters(true)) }
    }
}
