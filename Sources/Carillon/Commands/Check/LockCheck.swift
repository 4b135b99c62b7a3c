import CarillonPostgres
import CarillonPushQueue
import CarillonText

/// Finds sessions whose locks block workers or applications.
struct LockCheck {
    /// The locks of Carillon, and of applications that enqueue, are held only for a moment.
    private static let age = Duration.seconds(10)

    let connection: PostgresConnection

    func run() async throws -> Finding {
        let parameters = LockHolder.parameters(olderThan: Self.age)
        let holders = try await connection.query(LockHolder.statement, parameters) { rows in
            try rows.indices.map { try LockHolder(rows, $0) }
        }
        guard let first = holders.first else { return .ok("locks", "Nobody has locked Carillon's tables for long.") }
        let others = holders.count > 1 ? "; so have \(holders.count - 1) more" : ""
        let end = first.pid.map { "SELECT pg_terminate_backend(\($0))" } ?? "ROLLBACK PREPARED"
        return .warning(
            "locks",
            (first.sentence + others).asSentence,
            remedy:
                "Meanwhile, workers continue with other apps. End the transaction where it was started, or by \(end)."
        )
    }
}
