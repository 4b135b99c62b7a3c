import CarillonIO
import CarillonPostgres
import TestSupport

/// Checks the database several times a second during a case, for states that must never occur (I7, I15).
actor InvariantWatch {
    private let url: String
    private let loop: EventLoop
    private var watch: Task<Void, Never>?
    private(set) var findings: Set<String> = []

    /// It reads only times that the server notes itself, because a case may set the clock of its database.
    private static let violations = Statement(
        "invariants",
        """
        SELECT 'I15: a worker was idle in a transaction for more than a second, after: ' || left(a.query, 80)
        FROM pg_stat_activity a, pg_stat_activity own
        WHERE a.datname = current_database() AND a.application_name LIKE 'carillon%'
            AND a.state LIKE 'idle in transaction%'
            AND own.pid = pg_backend_pid() AND a.state_change < own.query_start - interval '1 s'
        UNION ALL
        SELECT 'I7: job ' || j.id || ' is in flight twice'
        FROM carillon.inflight f, unnest(f.jobs) AS j GROUP BY j.id HAVING count(*) > 1
        """
    )

    init(over url: String, on loop: EventLoop) {
        self.url = url
        self.loop = loop
    }

    func begin() {
        watch = Task { await keep() }
    }

    func end() async {
        watch?.cancel()
        await watch?.value
        watch = nil
    }

    private func keep() async {
        var connection: PostgresConnection?
        // It ends when the task is cancelled.
        try? await loop.eventually("the end", within: .seconds(7200), every: .milliseconds(250)) {
            do {
                let session: PostgresConnection
                if let connection {
                    session = connection
                } else {
                    session = try await PostgresConnection.connect(url, on: loop, application: "test invariants")
                    connection = session
                }
                let found = try await session.query(Self.violations) { rows in
                    try rows.indices.map { try rows.string($0, 0) }
                }
                findings.formUnion(found)
            } catch {
                // The database may be down because of the case.
                await connection?.close()
                connection = nil
            }
            return false
        }
        await connection?.close()
    }
}
