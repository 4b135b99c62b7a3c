import CarillonPostgres

/// What a look has found.
struct LookRows: Sendable {
    /// In any order. A lane may be there twice.
    private(set) var lanes: [Lane] = []
    /// Where the walk ended; nil if it went over the last lane.
    let end: Lane?
    let isDue: Bool
    /// How long the server took.
    let cost: Duration

    /// By position, since there may be many lanes.
    init(_ rows: borrowing Rows) throws(PostgresError) {
        let last = rows.count - 1
        let walkEnd = try rows.int64(last, "walk_end")
        let number = Int16(truncatingIfNeeded: walkEnd)
        end = Int32(exactly: (walkEnd - Int64(number)) >> 16).map { Lane(app: $0, number: number) }
        isDue = try rows.bool(last, "is_due")
        cost = .microseconds(try rows.int64(last, "cost"))
        for row in 0..<last {
            lanes.append(Lane(app: try rows.int32(row, .index(0)), number: try rows.int16(row, .index(1))))
        }
    }
}
