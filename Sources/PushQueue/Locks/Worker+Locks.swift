import IO
import Postgres

/// Telling whose locks statements meet.
extension Worker {
    /// Whoever was in the way has been for as long as a statement waits on the shared connection, at least.
    private static let shortest = Duration.milliseconds(100)

    /// Looks who holds a lock whenever there is a line to be written about one, which is seldom. It asks over the shared
    /// connection: there its own waiting has an end, and the sign of life never waits behind it.
    func keepLockNews() async {
        for await _ in lockBell.rings {
            while let met = metLocks.popFirst() {
                let holders = await lockHolders(of: met.error.lockedRelation)
                tell(.lockMet(met.error.description, untold: met.untold, holders: holders))
            }
        }
    }

    func note(_ met: MetLock) {
        metLocks.append(met)
        lockBell.ring()
    }

    /// Those that nobody will look for any more.
    func tellMetLocks() {
        while let met = metLocks.popFirst() {
            tell(.lockMet(met.error.description, untold: met.untold, holders: []))
        }
    }

    /// - Parameter relation: the table whose row is locked; nil: any table.
    func lockHolders(of relation: String?) async -> [LockHolder] {
        guard let connection = self.connection else { return [] }
        let parameters = LockHolder.parameters(olderThan: Self.shortest, relation: relation)
        do throws(PostgresError) {
            return try await ask(connection, LockHolder.statement, parameters) { rows in
                try rows.indices.map { try LockHolder(rows, $0) }
            }
        } catch {
            failed(error, on: connection)
            return []
        }
    }
}
