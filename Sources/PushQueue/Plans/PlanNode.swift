/// A node of a plan of `EXPLAIN (FORMAT JSON)`.
struct PlanNode: Decodable {
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
