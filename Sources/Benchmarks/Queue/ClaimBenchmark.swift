import CarillonPostgres
import CarillonPushQueue

/// The bare claim and the deletion of the claimed rows, by pgbench, for comparison with the whole path. Nothing is sent, no outcome
/// is written, and the returned rows are not read.
struct ClaimBenchmark {
    let rows: Int
    /// Rows of one token in each claim.
    private let claim = 1000

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            for clients in [1, 2] {
                let rate = try await rate(clients: clients, on: installation)
                let name = "one-token rows by the bare claim statement, pgbench, \(clients) client"
                report.add(name + (clients == 1 ? "" : "s"), rate, .rate)
            }
        }
    }

    private func rate(clients: Int, on installation: Installation) async throws -> Double {
        let connection = installation.connection
        let times = max(1, rows / clients / claim)
        // One lane and one worker for each client, so that each knows where its rows begin, as workers do.
        for lane in 0..<clients { try await connection.script(installation.enqueueing(times * claim, lane: lane)) }
        try await connection.script(
            """
            INSERT INTO carillon.workers (name, lease_until)
            SELECT 'pgbench', 'infinity' FROM generate_series(1, \(clients))
            """
        )
        let lowest = try await installation.number("SELECT min(id) FROM carillon.messages")
        let worker = try await installation.number("SELECT min(id) FROM carillon.workers")
        try await installation.settleDown()

        let pgbench = try PGBench(
            [script(app: installation.app, worker: worker, lowest: lowest, times: times)],
            on: installation.url,
            settings: WorkerSessions.shared.known(to: connection.serverVersion).pairs
        )
        let rate = try await pgbench.rate(clients: clients, times: times)
        for table in ["messages", "inflight"] {
            let left = try await installation.number("SELECT count(*) FROM carillon.\(table)")
            guard left == 0 else { throw BenchmarkError("pgbench has left \(left) rows in carillon.\(table).") }
        }
        try await connection.script("DELETE FROM carillon.workers; TRUNCATE carillon.messages")
        return rate * Double(claim)
    }

    /// The statement with pgbench's variables in place of its parameters. The deletion is the first step of a settlement: the row
    /// of the claim is deleted, and the commit is on disk before it is acknowledged.
    private func script(app: Int32, worker: Int, lowest: Int, times: Int) -> String {
        let values = ["app", "lane", "floor", "worker", "rows", "pushes", "bytes", "collapses"]
        var statement = ClaimStatement.statement.sql
        for (index, name) in values.enumerated().reversed() {
            statement = statement.replacing("$\(index + 1)", with: ":\(name)")
        }
        return """
            \\set app \(app)
            \\set lane :client_id
            \\set worker \(worker) + :client_id
            \\set rows \(claim)
            \\set pushes \(claim)
            \\set bytes 1000000
            \\set collapses false
            \\set floor \(lowest) + :client_id * \(times * claim) + :turn * \(claim)
            \(statement);
            DELETE FROM carillon.inflight f WHERE f.app_id = :app AND f.id = currval('carillon.inflight_id_seq');
            \\set turn :turn + 1

            """
    }
}
