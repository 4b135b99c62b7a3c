import TestSupport
import Testing

/// The lists of the fields of a job that `make docs` writes. The arguments of `carillon.job()` are what they are made from.
@Suite(.demo) struct JobListTests {
    private static let folder = "migrations/functions/queue/"
    private static let arguments = "SELECT unnest(p.proargnames) FROM pg_proc p WHERE p.oid = 'carillon.job'::regproc"

    private var fields: [String] {
        get async throws { try await database.rows(Self.arguments).map { String($0.dropFirst().dropLast()) } }
    }

    @Test func `the job of a row gets each field from the row`() async throws {
        let page = GeneratedPage(Self.folder + "job.sql")
        let fields = try await fields
        for (row, table) in [("ready", "messages"), ("waiting", "scheduled")] {
            try page.expect(
                SQLList.lines(fields.map { "\($0) => \(row).\($0)" }, indent: 8),
                after: "_job(\(row) carillon.\(table)) RETURNS carillon.job",
                before: ")\n$$;",
                skipping: 2
            )
        }
    }

    @Test func `insert_jobs() stores each field`() async throws {
        let page = GeneratedPage(Self.folder + "return_jobs.sql")
        let fields = try await fields
        // Null in a job that is older than the field.
        let items = fields.map { $0 == "unknown_attempts" ? "coalesce(j.\($0), 0::smallint)" : "j.\($0)" }
        for (table, select) in [("messages", "SELECT insert_jobs.app,"), ("scheduled", "SELECT insert_jobs.app, pg_")] {
            try page.expect(
                SQLList.lines(fields, indent: 20),
                after: "INSERT INTO carillon.\(table) (app_id",
                before: ")\n                SELECT insert_jobs.app"
            )
            try page.expect(
                SQLList.lines(items, indent: 20),
                after: select,
                before: "\n                FROM pg_catalog.unnest(jobs)"
            )
        }
    }

    @Test func `a claim takes each field of a row`() async throws {
        let page = GeneratedPage("Sources/PushQueue/Claim/ClaimStatement.swift")
        let fields = try await fields
        // Expressions that shorten what is too long.
        let items = fields.map { ["tokens", "payload"].contains($0) ? "\\(\($0)) AS \($0)" : "m.\($0)" }
        try page.expect(
            SQLList.lines(items, indent: 16),
            after: "WHERE m.ctid = ANY",
            before: "\n        ), claim AS (",
            skipping: 1
        )
        try page.expect(
            SQLList.lines(fields.map { "\($0) => p.\($0)" }, indent: 16),
            after: "array_agg(carillon.job(",
            before: "))\n            FROM picked p"
        )
    }
}
