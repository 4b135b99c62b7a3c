import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Which rows a claim takes, which is decided once for all of them if they all fit.
@Suite(.demo) struct ClaimStatementTests {
    private static let worker = "INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'one', 'infinity')"

    /// The claim that decides for each row.
    private static let rowByRow = Statement(
        "claim_row_by_row",
        ClaimStatement.statement.sql.replacing("WHEN sum(s.pushes) <= $6", with: "WHEN false")
    )

    /// A few messages. Some are unusual in half of the queues.
    private static func queue(using random: inout SeededGenerator) -> String {
        let tokens = [
            "'{aa}'", "'{aa,bb,cc}'", "'{}'", "ARRAY[repeat('ab', 300), 'cc']", "ARRAY[repeat('ab', 5000)]",
            "(SELECT array_agg(md5(i::text)) FROM generate_series(1, 900) i)",
            "(SELECT array_agg(md5(i::text)) FROM generate_series(1, 4000) i)",
        ]
        let payloads = [
            "'{}', NULL", "NULL, NULL", "to_json(repeat('x', 5000)), NULL", "to_json(repeat('x', 9000)), NULL",
            "NULL, ARRAY['{}']::json[]", "NULL, ARRAY[to_json(repeat('x', 20000))]",
        ]
        let areUnusual = Bool.random(using: &random)
        let rows = (1...Int.random(in: 1...8, using: &random)).map { id in
            let isUnusual = areUnusual && Int.random(in: 0..<3, using: &random) == 0
            let list = (isUnusual ? tokens : Array(tokens[..<2])).randomElement(using: &random) ?? ""
            let content = (isUnusual ? payloads : Array(payloads[..<1])).randomElement(using: &random) ?? ""
            return "(\(id), 1, \(list), \(content), \(isUnusual ? Int.random(in: 2...12, using: &random) : 0))"
        }
        return """
            TRUNCATE carillon.messages;
            INSERT INTO carillon.messages (id, app_id, tokens, payload, payloads, lost_claims)
            VALUES \(rows.joined(separator: ", "))
            """
    }

    /// The rows of the answer, what is in flight then and what is left.
    private func outcome(of statement: Statement, _ plan: ClaimPlan) async throws -> [String] {
        try await database.run("BEGIN")
        let parameters = ClaimStatement.parameters(plan, worker: 1, maxBytes: 100_000)
        let answer = try await database.connection.query(statement, parameters) { rows in
            try rows.indices.map { row in
                let id = try rows.int64IfPresent(row, "id") ?? 0
                let pushes = try rows.int64IfPresent(row, "unfit_pushes")
                return try "\(id) \(rows.isNull(row, "claim")) \(rows.isNull(row, "tokens")) \(pushes ?? 0)"
            }
        }
        let inFlight = try await database.rows("SELECT worker_id, app_id, quarantined, jobs FROM carillon.inflight")
        let left = try await database.rows("SELECT id FROM carillon.messages ORDER BY id")
        try await database.run("ROLLBACK")
        return answer.sorted() + inFlight + left
    }

    @Test func `deciding once for all rows takes, leaves and names the same rows as deciding for each`() async throws {
        try #require(Self.rowByRow.sql != ClaimStatement.statement.sql)
        try await database.run(Self.worker)
        for seed: UInt64 in 0..<60 {
            var random = SeededGenerator(seed: seed)
            try await database.run(Self.queue(using: &random))
            let rows = Int32.random(in: 1...9, using: &random)
            let pushes: Int32 = [3, 10, 1000].randomElement(using: &random) ?? 0
            let plan = ClaimPlan(lane: Lane(app: 1, number: 1), depth: .deep, floor: 0, rows: rows, pushes: pushes)
            let together = try await outcome(of: ClaimStatement.statement, plan)
            let each = try await outcome(of: Self.rowByRow, plan)
            #expect(together == each, "seed \(seed), \(plan)")
        }
    }

    @Test(arguments: [(10, true), (9, false)])
    func `each row is decided by itself only if they do not all fit`(pushes: Int, allFit: Bool) async throws {
        try await database.run(
            """
            \(Self.worker);
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 1, '{aa}', '{}' FROM generate_series(1, 10)
            """
        )
        let values = ["1", "1", "0", "1", "1000", "\(pushes)", "100000", "false"]
        let claim = values.enumerated().reversed().reduce(ClaimStatement.statement.sql) { text, value in
            text.replacing("$\(value.offset + 1)", with: value.element)
        }
        let plan = try await database.plan(claim, "ANALYZE, COSTS off, TIMING off, SUMMARY off")
        #expect(plan.contains("WindowAgg (never executed)") == allFit, "\(plan)")
    }

    private static func claimed(in database: TestDatabase) async throws -> Int {
        let plan = ClaimPlan(lane: Lane(app: 1, number: 1), depth: .deep, floor: 0, rows: 10, pushes: 10)
        let parameters = ClaimStatement.parameters(plan, worker: 1, maxBytes: 100_000)
        return try await database.connection.query(ClaimStatement.statement, parameters) { rows in
            try rows.indices.count { try !rows.isNull($0, "tokens") }
        }
    }

    /// As when a pooler is pointed at a restored backup. The worker lived when that was made, so the copy has its row.
    @Test func `a claim takes nothing in a copy of the database until that is adopted, and all in the original`()
        async throws
    {
        let work = """
            \(Self.worker);
            INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 1, '{aa}', '{}' FROM generate_series(1, 3)
            """
        try await database.run(work)
        let home = try await database.number("SELECT database_oid FROM carillon.installation")
        try await TestDatabase.withDemo { copy in
            try await copy.run("\(work); UPDATE carillon.installation SET database_oid = \(home)")
            try await copy.run("SET ROLE carillon_worker")
            #expect(try await Self.claimed(in: copy) == 0)
            #expect(try await copy.number("SELECT count(*) FROM carillon.messages") == 3)
            #expect(try await copy.number("SELECT count(*) FROM carillon.inflight") == 0)
            try await copy.run("RESET ROLE; SELECT carillon.adopt(); \(Self.worker); SET ROLE carillon_worker")
            #expect(try await Self.claimed(in: copy) == 3)
        }
        try await database.run("SET ROLE carillon_worker")
        #expect(try await Self.claimed(in: database) == 3)
    }
}
