import CarillonPostgres

extension WorkerDatabase {
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
                logError(error)
            }
        }
        context.event { $0.sleep.connected(canBeNotified: canBeNotified) }
    }
}
