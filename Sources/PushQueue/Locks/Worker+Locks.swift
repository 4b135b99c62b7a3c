import CarillonIO
import CarillonPostgres

/// Logging who holds the locks that statements wait for in vain.
extension Worker {
    struct MetLock: Sendable {
        let error: PostgresError
        /// How many more were not logged.
        let suppressed: Int
    }

    /// The lock timeout of the shared connection: a holder has had its lock at least this long.
    private static let shortest = Duration.milliseconds(100)

    /// Finds the holders of each lock to be logged, on the shared connection, where the wait for locks is short.
    func logLocks() async {
        for await _ in lockBell.rings {
            while let met = metLocks.popFirst() {
                let holders = await lockHolders(of: met.error.lockedRelation)
                ledger.log(.lockMet(met.error.description, suppressed: met.suppressed, holders: holders))
            }
        }
    }

    func note(_ met: MetLock) {
        metLocks.append(met)
        lockBell.ring()
    }

    /// Logs the rest at the end of the worker, without holders.
    func logMetLocks() {
        while let met = metLocks.popFirst() {
            ledger.log(.lockMet(met.error.description, suppressed: met.suppressed, holders: []))
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
