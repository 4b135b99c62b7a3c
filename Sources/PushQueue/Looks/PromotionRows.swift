import CarillonPostgres

/// The due jobs that a look has moved to the queue.
struct PromotionRows: Sendable {
    /// Rows of one lane.
    struct Promotion: Sendable {
        let lane: Lane
        let lowest: Int64
        let rows: Int
    }

    /// Moves due jobs from `scheduled` to the queue. Of each row, `cost` is how many microseconds the server took.
    static let statement = Statement(
        "promote",
        """
        SELECT p.kind, p.app_id, p.lane, p.lowest, p.jobs, p.next_at, p.next_id,
            (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint AS cost
        FROM carillon.promote($1, $2, $3) AS p
        """
    )

    static func parameters(maxRows: Int32, after position: DueFloor.Position) -> Parameters {
        Parameters(maxRows, position.time, position.id)
    }

    var promotions: [Promotion] = []
    /// Due jobs that were not moved come after this position.
    var next = DueFloor.Position.beginning
    /// How long the server took.
    var cost = Duration.zero

    var lanes: [(lane: Lane, lowest: Int64)] { promotions.map { ($0.lane, $0.lowest) } }
    var rows: Int { promotions.reduce(0) { $0 + $1.rows } }
}

extension PromotionRows {
    /// A row for each lane, and one for the position.
    init(_ rows: borrowing Rows) throws(PostgresError) {
        for row in rows.indices {
            if try rows.string(row, "kind") == "position" {
                next = DueFloor.Position(time: try rows.moment(row, "next_at"), id: try rows.int64(row, "next_id"))
                cost = .microseconds(try rows.int64(row, "cost"))
            } else {
                let lane = Lane(app: try rows.int32(row, "app_id"), number: try rows.int16(row, "lane"))
                let jobs = Int(try rows.int64(row, "jobs"))
                promotions.append(Promotion(lane: lane, lowest: try rows.int64(row, "lowest"), rows: jobs))
            }
        }
    }
}
