import CarillonPostgres

/// What the tables say at the end of a case.
struct RecordedOutcomes: Sendable {
    struct Result: Sendable {
        let sent: Int
        let failed: Int
        let expired: Int
        let cancelled: Int

        var total: Int { sent + failed + expired + cancelled }
    }

    struct Failure: Sendable {
        let token: String
        /// Nil: refused here, or never answered.
        let status: Int16?
        let reason: String
        let attempt: Int16
    }

    /// By reference.
    var results: [String: [Result]] = [:]
    var failures: [String: [Failure]] = [:]
    var waiting = 0
    var inFlight = 0
    var unfinished = 0
    var deadlocks = 0
    /// Device tokens that passes have deleted without a reason.
    var wrongDeletions: [String] = []

    static func read(by client: SceneClient) async throws -> RecordedOutcomes {
        var outcomes = RecordedOutcomes()
        let results = try await client.query(
            """
            SELECT coalesce(r.reference, 'message ' || r.message_id), r.sent, r.failed, r.expired, r.cancelled
            FROM carillon.results r
            """
        ) { rows in
            try rows.indices.map { row in
                (
                    try rows.string(row, 0),
                    Result(
                        sent: Int(try rows.int32(row, 1)),
                        failed: Int(try rows.int32(row, 2)),
                        expired: Int(try rows.int32(row, 3)),
                        cancelled: Int(try rows.int32(row, 4))
                    )
                )
            }
        }
        for (reference, result) in results { outcomes.results[reference, default: []].append(result) }
        let failures = try await client.query(
            """
            SELECT coalesce(f.reference, 'message ' || f.message_id), f.token, f.status, f.reason, f.attempt FROM carillon.failures f
            """
        ) { rows in
            try rows.indices.map { row in
                (
                    try rows.string(row, 0),
                    Failure(
                        token: try rows.string(row, 1),
                        status: try rows.int16IfPresent(row, 2),
                        reason: try rows.string(row, 3),
                        attempt: try rows.int16(row, 4)
                    )
                )
            }
        }
        for (reference, failure) in failures { outcomes.failures[reference, default: []].append(failure) }
        outcomes.waiting = try await client.number(
            "(SELECT count(*) FROM carillon.messages) + (SELECT count(*) FROM carillon.scheduled)"
        )
        outcomes.inFlight = try await client.number("SELECT count(*) FROM carillon.inflight")
        outcomes.unfinished = try await client.number("SELECT count(*) FROM carillon.unfinished")
        outcomes.deadlocks = try await client.number(
            "SELECT d.deadlocks FROM pg_stat_database d WHERE d.datname = current_database()"
        )
        outcomes.wrongDeletions = try await client.query(Deletions.wrong) { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }
        return outcomes
    }
}
