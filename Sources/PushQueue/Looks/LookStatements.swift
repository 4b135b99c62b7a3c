import CarillonPostgres

/// The statements that find lanes with rows. Each is a transaction of its own.
enum LookStatements {
    /// The lanes that have rows, except those of paused apps. Known lanes are looked up from their floors. Between them the
    /// index is walked from lane to lane, never over their rows. A range of paused apps, given as a known lane with the first
    /// app of the range, is skipped in one step. The last row has no lane. It says whether jobs in `scheduled` are due after a
    /// position, and how many microseconds the server took, since the time until the answer includes other statements.
    ///
    /// Apps are 64-bit numbers here, and lanes 32-bit ones, so that the walk can begin before the lowest possible lane and end
    /// after the highest one.
    ///
    /// A step is bounded by app and by lane separately. A row comparison with the next known lane would not stop the index
    /// scan there: it would go on over all dead entries of that lane, which may be a million.
    static let above = Statement(
        "look",
        """
        WITH RECURSIVE known AS MATERIALIZED (
            SELECT k.app, k.lane, k.floor, lead(coalesce(k.first_app, k.app), 1, 2147483648) OVER w AS next_app,
                lead(CASE WHEN k.first_app IS NULL THEN k.lane ELSE -32768 END, 1, 32767) OVER w AS next_lane
            FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[]) AS k(app, lane, floor, first_app)
            WINDOW w AS (ORDER BY k.app, k.lane)
        ), found AS (
            SELECT k.app AS app_id, k.lane, k.next_app, k.next_lane, true AS is_known FROM known k
            UNION ALL
            SELECT n.app_id::bigint, n.lane::integer, f.next_app, f.next_lane, false FROM found f, LATERAL (
                (SELECT m.app_id, m.lane FROM carillon.messages m
                WHERE (m.app_id, m.lane) > (f.app_id, f.lane) AND m.app_id < f.next_app
                ORDER BY m.app_id, m.lane LIMIT 1)
                UNION ALL
                (SELECT m.app_id, m.lane FROM carillon.messages m
                WHERE m.app_id = f.next_app AND m.lane < f.next_lane
                    AND m.lane >= CASE WHEN f.app_id = f.next_app THEN f.lane + 1 ELSE -32768 END
                ORDER BY m.app_id, m.lane LIMIT 1)
                LIMIT 1) AS n
        )
        SELECT f.app_id::integer, f.lane::smallint, NULL::boolean AS is_due, NULL::bigint AS cost FROM found f
        WHERE NOT f.is_known AND (SELECT a.paused FROM carillon.apps a WHERE a.id = f.app_id) IS NOT TRUE
        UNION ALL
        SELECT k.app::integer, k.lane::smallint, NULL, NULL FROM known k WHERE (
            SELECT m.id FROM carillon.messages m WHERE m.app_id = k.app AND m.lane = k.lane AND m.id >= k.floor
            ORDER BY m.id LIMIT 1) IS NOT NULL
        UNION ALL
        SELECT NULL, NULL, coalesce($5::timestamptz > now(), false) OR EXISTS (
                SELECT FROM carillon.scheduled s WHERE s.run_at <= now() AND (s.run_at, s.id) > ($5, $6::bigint)),
            (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint
        """
    )

    /// A range of paused apps is passed as a lane above all of its lanes.
    /// - Parameter position: Where to look for due jobs. A position after the present time, from before the database's clock was set
    ///   back, counts as due. Nil: nothing counts as due.
    static func parameters(
        above floors: [(lane: Lane, id: Int64)],
        over ranges: [PausedRange] = [],
        dueAfter position: DueFloor.Position? = nil
    ) -> Parameters {
        let walked =
            ranges.isEmpty ? floors : floors.filter { floor in !ranges.contains { $0.contains(floor.lane.app) } }
        let ends = ranges.map { (lane: Lane(app: $0.last, number: .max), id: Int64.max) }
        let known = walked + ends
        return Parameters(
            PostgresArray([Int64(Int32.min) - 1] + known.map { Int64($0.lane.app) }),
            PostgresArray([0] + known.map { Int32($0.lane.number) }),
            PostgresArray([Int64.max] + known.map(\.id)),
            PostgresArray(Array(repeating: nil, count: 1 + walked.count) + ranges.map { Int64($0.first) as Int64? }),
            Timestamp(position?.time),
            position?.id
        )
    }

    /// What `above` has found: the lanes that have rows, whether jobs are due, and how long the server took. By position, since there
    /// may be many lanes.
    static func lanes(_ rows: borrowing Rows) throws(PostgresError) -> (lanes: [Lane], isDue: Bool, cost: Duration) {
        let last = rows.count - 1
        var lanes: [Lane] = []
        for row in 0..<last {
            lanes.append(Lane(app: try rows.int32(row, .place(0)), number: try rows.int16(row, .place(1))))
        }
        return (lanes, try rows.bool(last, "is_due"), .microseconds(try rows.int64(last, "cost")))
    }

    /// The lowest row below the floor of each lane. The scan walks over all dead entries of the lanes, so it is run rarely, on a
    /// connection of its own.
    static let below = Statement(
        "look_below",
        """
        SELECT k.app, k.lane, n.id AS lowest FROM unnest($1::integer[], $2::smallint[], $3::bigint[]) AS k(app, lane, floor),
            LATERAL (SELECT m.id FROM carillon.messages m
                WHERE m.app_id = k.app AND m.lane = k.lane AND m.id < k.floor ORDER BY m.id LIMIT 1) AS n
        """
    )

    static func parameters(below floors: [(lane: Lane, id: Int64)]) -> Parameters {
        Parameters(
            PostgresArray(floors.lazy.map(\.lane.app)),
            PostgresArray(floors.lazy.map(\.lane.number)),
            PostgresArray(floors.lazy.map(\.id))
        )
    }

    /// What `below` has found.
    static func rows(_ rows: borrowing Rows) throws(PostgresError) -> [(lane: Lane, lowest: Int64)] {
        var found: [(lane: Lane, lowest: Int64)] = []
        for row in rows.indices {
            let lane = Lane(app: try rows.int32(row, "app"), number: try rows.int16(row, "lane"))
            found.append((lane, try rows.int64(row, "lowest")))
        }
        return found
    }
}
