package import CarillonPostgres
import FoundationEssentials

/// Whether the frequent statements of a worker use their indexes in a generic plan. Without its index, each would read the whole
/// queue.
package enum PlanCheck {
    private static let statements = [ClaimStatement.statement, LookStatements.above, LookStatements.below, Self.due]
    private static let tables: Set<String> = ["messages", "scheduled"]

    /// How `carillon.promote` finds what is due.
    static let due = Statement(
        "due_jobs",
        """
        SELECT s.id FROM carillon.scheduled s
        WHERE s.run_at <= now() AND (s.run_at, s.id) > ($1::timestamptz, $2::bigint)
        ORDER BY s.run_at, s.id LIMIT $3 FOR UPDATE SKIP LOCKED
        """
    )

    private static let count = Statement(
        "plan_parameters",
        "SELECT cardinality(p.parameter_types) AS count FROM pg_prepared_statements p WHERE p.name = $1"
    )

    /// Returns a sentence for each statement that does not use its index. No other task may use the connection meanwhile.
    package static func run(on connection: PostgresConnection) async throws(PostgresError) -> [String] {
        do {
            return try await connection.transaction {
                try await connection.script(WorkerSessions.shared.known(to: connection.serverVersion).forTransaction)
                var faults: [String] = []
                for statement in Self.statements {
                    guard let fault = try await Self.plan(of: statement, on: connection).fault(reading: Self.tables)
                    else { continue }
                    faults.append("the statement \(statement.name) \(fault)")
                }
                return faults
            }
        } catch let error as PostgresError {
            throw error
        } catch {
            throw PostgresError(.unexpectedValue, "the server's plan cannot be read: \(error)")
        }
    }

    private static func plan(of statement: Statement, on connection: PostgresConnection) async throws -> PlanNode {
        // Others may use the same session through a pooler: they must not be able to take the name.
        let name = "carillon_plan_" + String(UInt64.random(in: .min ... .max), radix: 36)
        try await connection.script("PREPARE \(name) AS \(statement.sql); SAVEPOINT prepared")
        let text: String
        do {
            let count = try await connection.query(Self.count, Parameters(name)) { rows in
                Int(try rows.int32(0, "count"))
            }
            let values = Array(repeating: "NULL", count: count).joined(separator: ", ")
            let explain = Statement("explain_\(name)", "EXPLAIN (FORMAT JSON) EXECUTE \(name)(\(values))")
            text = try await connection.query(explain) { rows in try rows.string(0, 0) }
        } catch {
            // The end of the transaction does not remove it.
            try? await connection.script("ROLLBACK TO SAVEPOINT prepared; DEALLOCATE \(name)")
            throw error
        }
        try await connection.script("DEALLOCATE \(name)")
        guard let root = try JSONDecoder().decode([PlanNode.Root].self, from: Data(text.utf8)).first else {
            throw PostgresError(.unexpectedValue, "EXPLAIN returned no plan")
        }
        return root.plan
    }
}

/// A node of a plan of `EXPLAIN (FORMAT JSON)`.
private struct PlanNode: Decodable {
    struct Root: Decodable {
        let plan: PlanNode

        private enum CodingKeys: String, CodingKey {
            case plan = "Plan"
        }
    }

    let kind: String
    let relation: String?
    let condition: String?
    let children: [PlanNode]?

    private enum CodingKeys: String, CodingKey {
        case kind = "Node Type"
        case relation = "Relation Name"
        case condition = "Index Cond"
        case children = "Plans"
    }

    /// What is wrong with the way rows of these tables are read, or nil if all come from an index, in its order.
    func fault(reading tables: Set<String>) -> String? {
        if let relation, tables.contains(relation) {
            switch kind {
            case "ModifyTable", "Tid Scan": break
            case "Index Scan", "Index Only Scan":
                if condition == nil { return "scans a whole index of carillon.\(relation)" }
            default: return "reads the whole of carillon.\(relation) (\(kind))"
            }
        }
        if kind.hasSuffix("Sort"), let relation = firstTable(of: tables) {
            return "sorts rows of carillon.\(relation), instead of reading them in order"
        }
        for child in children ?? [] {
            if let fault = child.fault(reading: tables) { return fault }
        }
        return nil
    }

    private func firstTable(of tables: Set<String>) -> String? {
        if let relation, tables.contains(relation) { return relation }
        return (children ?? []).lazy.compactMap { $0.firstTable(of: tables) }.first
    }
}
