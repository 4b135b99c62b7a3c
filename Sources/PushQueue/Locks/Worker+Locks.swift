import IO
import Postgres

/// Telling who holds the locks that statements meet.
extension Worker {
    struct MetLock: Sendable {
        let error: PostgresError
        /// How many more there were that were not told.
        let untold: Int
    }

    /// A holder has had the lock for as long as a statement waits on the shared connection, at least.
    private static let shortest = Duration.milliseconds(100)

    /// Asks who holds a lock whenever one is to be told, which is seldom. It uses the shared connection, where its own wait for
    /// locks is short and no heartbeat is behind it.
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

    /// Tells the rest at the end of the worker, without holders.
    func tellMetLocks() {
        while let met = metLocks.popFirst() {
            tell(.lockMet(met.error.description, untold: met.untold, holders: []))
        }
    }

    /// - Parameter relation: The table whose row is locked; nil: any table.
    func lockHolders(of relation: String?) async -> [LockHolder] {
        guard let connection else { return [] }
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
