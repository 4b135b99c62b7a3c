import Postgres
import PushQueue

/// The bare claim, and the end of what was claimed, as fast as pgbench can ask for them: what the whole way is to be
/// compared with. Nothing is sent, no outcome is written, and nobody reads the rows that come back.
struct ClaimBenchmark {
    let rows: Int
    /// Rows of one token, and all of them in one claim.
    private let claim = 1000

    func run(into report: inout Report) async throws {
        try await Installation.with { installation in
            for clients in [1, 2] {
                let rate = try await self.rate(clients: clients, on: installation)
                report.note(
                    "one-token rows by the bare claim statement, pgbench, \(clients) client\(clients == 1 ? "" : "s")",
                    "\(Report.grouped(rate)) a second"
                )
            }
        }
    }

    private func rate(clients: Int, on installation: Installation) async throws -> Double {
        let connection = installation.connection
        let times = max(1, self.rows / clients / self.claim)
        // A lane and a worker a client, so that each knows where its rows begin, as workers do.
        for lane in 0..<clients {
            try await connection.script(installation.enqueueing(times * self.claim, lane: lane))
        }
        try await connection.script(
            """
            INSERT INTO carillon.workers (name, lease_until)
            SELECT 'pgbench', 'infinity' FROM generate_series(1, \(clients))
            """
        )
        let lowest = try await installation.number("SELECT min(id) FROM carillon.messages")
        let worker = try await installation.number("SELECT min(id) FROM carillon.workers")
        try await installation.rest()

        let pgbench = try PGBench(
            [self.script(app: installation.app, worker: worker, lowest: lowest, times: times)],
            on: installation.url,
            settings: WorkerStatements.settings.known(to: connection.serverVersion).pairs
        )
        let rate = try await pgbench.rate(clients: clients, times: times)
        for table in ["messages", "inflight"] {
            let left = try await installation.number("SELECT count(*) FROM carillon.\(table)")
            guard left == 0 else { throw BenchmarkError("pgbench has left \(left) rows in carillon.\(table).") }
        }
        try await connection.script("DELETE FROM carillon.workers; TRUNCATE carillon.messages")
        return rate * Double(self.claim)
    }

    /// The statement itself, with pgbench's variables in the places of its parameters. The end is what settling does
    /// first: the row of the claim goes, and its commit is on the disk before it is answered.
    private func script(app: Int32, worker: Int, lowest: Int, times: Int) -> String {
        let values = ["app", "lane", "floor", "worker", "rows", "pushes", "bytes"]
        var claim = ClaimAnswer.statement.sql
        for (place, name) in values.enumerated().reversed() {
            claim = claim.split(separator: "$\(place + 1)", omittingEmptySubsequences: false).joined(
                separator: ":\(name)"
            )
        }
        return """
            \\set app \(app)
            \\set lane :client_id
            \\set worker \(worker) + :client_id
            \\set rows \(self.claim)
            \\set pushes \(self.claim)
            \\set bytes 1000000
            \\set floor \(lowest) + :client_id * \(times * self.claim) + :turn * \(self.claim)
            \(claim);
            DELETE FROM carillon.inflight f WHERE f.id = currval('carillon.inflight_id_seq');
            \\set turn :turn + 1

            """
    }
}
