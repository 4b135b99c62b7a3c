import CarillonPostgres
import TestSupport

@testable import CarillonPushQueue

/// What workers do, without a worker.
extension TestDatabase {
    /// Apple takes some push types only with a signing key.
    func useSigningKey() async throws {
        try await run(
            "UPDATE carillon.certificates SET certificate = NULL, private_key = 'k', key_id = 'K', team_id = 'T'"
        )
    }

    /// A job of a claim, and its tokens.
    struct ClaimedJob: Sendable {
        let id: Int64
        let origin: Int64?
        let tokens: [String]
    }

    /// A row of `workers`.
    func addWorker() async throws -> Int64 {
        let id = try await value("SELECT id FROM carillon.workers WHERE id = (SELECT max(id) FROM carillon.workers)")
        try await run(
            "INSERT INTO carillon.workers (id, name, lease_until) VALUES (\((Int64(id ?? "0") ?? 0) + 1), 'w', now() + interval '1 hour')"
        )
        return (Int64(id ?? "0") ?? 0) + 1
    }

    /// A claim of the app's normal lane.
    func claim(by worker: Int64, rows: Int32 = 1000, pushes: Int32 = 1000) async throws -> [ClaimedJob] {
        let plan = ClaimPlan(lane: Lane(app: 1, number: 1), depth: .deep, floor: .min, rows: rows, pushes: pushes)
        let parameters = ClaimStatement.parameters(plan, worker: worker, maxBytes: 1_000_000)
        return try await connection.query(ClaimStatement.statement, parameters) { rows in
            var jobs: [ClaimedJob] = []
            for row in rows.indices where try rows.isNull(row, "claim") && rows.isNull(row, "unfit_pushes") {
                jobs.append(
                    ClaimedJob(
                        id: try rows.int64(row, "id"),
                        origin: try rows.int64IfPresent(row, "origin"),
                        tokens: try rows.strings(row, "tokens").compactMap(\.self)
                    )
                )
            }
            return jobs
        }
    }

    /// All that a worker holds was delivered.
    func settleAll(of worker: Int64) async throws {
        try await run(
            """
            SELECT carillon.end_messages(f.app_id, ARRAY[carillon.ending(message_id => coalesce(j.origin, j.id),
                reference => j.reference, broadcast_id => j.broadcast_id, created_at => NULL, attempts => j.attempt,
                sent => carillon.count_tokens(j.tokens), remaining => CASE WHEN j.origin IS NOT NULL THEN 0 END)])
            FROM carillon.inflight f, unnest(f.jobs) AS j WHERE f.worker_id = \(worker);
            DELETE FROM carillon.inflight f WHERE f.worker_id = \(worker)
            """
        )
    }

    /// The worker is dead, and another takes over what it held.
    func bury(_ worker: Int64) async throws {
        try await run("DELETE FROM carillon.workers WHERE id = \(worker); SELECT carillon.take_over(0)")
    }
}
