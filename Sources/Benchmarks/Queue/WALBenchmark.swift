import CarillonPostgres

/// The WAL of a one-token row, by the statements alone: autovacuum is off, and so are the images of whole pages, whose number
/// depends on when the last checkpoint was. Device tokens are random, since claims are compressed; all rows have one payload.
struct WALBenchmark {
    let rows: Int

    func run(into report: inout Report) async throws {
        try await Installation.with(server: ["autovacuum": "off", "full_page_writes": "off"]) { installation in
            let inserted = try await bytes(on: installation) {
                try await installation.connection.script(
                    """
                    INSERT INTO carillon.messages (app_id, tokens, payload)
                    SELECT \(installation.app), ARRAY[encode(sha256(n::text::bytea), 'hex')], \(Installation.payloadLiteral)
                    FROM generate_series(1, \(rows)) n
                    """
                )
            }
            try await installation.settleDown()
            let ended = try await bytes(on: installation) { _ = try await installation.run(["worker", "--once"]) }
            try await installation.check(sent: rows, rows: rows)
            report.add("WAL of a one-token row: by an INSERT of all rows", inserted, .bytes)
            report.add("  by its claim and its settlement", ended, .bytes, .atMost(400))
            report.add("  from the INSERT to its result", inserted + ended, .bytes, .atMost(620))
        }
    }

    /// What the server writes during the body, for each row.
    private func bytes(on installation: Installation, during body: () async throws -> Void) async throws -> Double {
        let position = "pg_current_wal_insert_lsn() - '0/0'"
        let start = try await installation.number(position)
        try await body()
        return Double(try await installation.number(position) - start) / Double(rows)
    }
}
