import CarillonPostgres
import CarillonSchema

extension WorkerDatabase {
    /// Closes a new connection to a copy: a restored backup may replace the database behind a name while the worker runs.
    func checked(_ connection: PostgresConnection) async throws(PostgresError) -> PostgresConnection {
        let known = context.state.wal.last
        do throws(PostgresError) {
            try note(
                try await connection.query(InstallationSighting.statement) { try InstallationSighting($0) },
                since: known
            )
            return connection
        } catch {
            await connection.close()
            throw error
        }
    }

    /// A heartbeat has returned. Behind a pooler, it may be the first statement that gets to a copy: all connections are closed.
    func saw(_ sighting: InstallationSighting, since known: WALPosition?) async throws(PostgresError) {
        do throws(PostgresError) {
            try note(sighting, since: known)
        } catch {
            await close(because: error)
            throw error
        }
    }

    private func note(_ sighting: InstallationSighting, since known: WALPosition?) throws(PostgresError) {
        if let error = sighting.error { throw error }
        guard let wal = sighting.wal, let earlier = context.event({ $0.wal.saw(wal, since: known) }) else { return }
        context.log(.databaseWentBack(from: earlier, to: wal))
    }
}
