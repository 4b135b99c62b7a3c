import CarillonPostgres

/// The statements that find lanes with rows. Each is a transaction of its own.
enum LookStatements {
    /// The lanes that have rows, except those of paused apps. The index is walked from lane to lane, never over the rows of known
    /// lanes, which are looked up from their floors instead. A range of paused apps is skipped in one step. The last row says where
    /// the walk ended, whether jobs in `scheduled` are due after a position, and how many microseconds the server took, since the
    /// time until it returns includes other statements.
    ///
    /// The first four arrays are the stops of the walk, in the order of the index: each with the lane that the walk goes on
    /// after, and the lane before which it stops. The first stop is where it begins. Apps are 64-bit numbers here, and lanes 32-bit
    /// ones, so that the walk can begin before the lowest possible lane and end after the highest one. The arrays have no nulls,
    /// since with any, PostgreSQL would count through an array to find an element.
    ///
    /// A step is bounded by app and by lane separately. A row comparison with the next stop would not stop the index scan there:
    /// it would go on over all dead entries of that lane, which may be a million.
    static let above = Statement(
        "look",
        """
        WITH RECURSIVE walk(app, lane, stop, is_found) AS (
            SELECT ($1::bigint[])[1], ($2::integer[])[1], 2, false
            UNION ALL
            SELECT coalesce(n.app_id::bigint, s.app), coalesce(n.lane::integer, s.lane),
                CASE WHEN n.app_id IS NULL THEN w.stop + 1 ELSE w.stop END, n.app_id IS NOT NULL
            FROM walk w CROSS JOIN LATERAL (
                SELECT $1[w.stop] AS app, $2[w.stop] AS lane, ($3::bigint[])[w.stop] AS before_app,
                    ($4::integer[])[w.stop] AS before_lane) AS s
            LEFT JOIN LATERAL (
                (SELECT m.app_id, m.lane FROM carillon.messages m
                WHERE (m.app_id, m.lane) > (w.app, w.lane) AND m.app_id < s.before_app
                ORDER BY m.app_id, m.lane LIMIT 1)
                UNION ALL
                (SELECT m.app_id, m.lane FROM carillon.messages m
                WHERE m.app_id = s.before_app AND m.lane < s.before_lane
                    AND m.lane >= CASE WHEN w.app = s.before_app THEN w.lane + 1 ELSE -32768 END
                ORDER BY m.app_id, m.lane LIMIT 1)
                LIMIT 1) AS n ON true
            WHERE w.stop <= cardinality($1)
        ), walked AS MATERIALIZED (
            SELECT w.app, w.lane, w.is_found FROM walk w LIMIT $7::bigint
        )
        SELECT w.app::integer AS app_id, w.lane::smallint, NULL::boolean AS is_due, NULL::bigint AS cost, NULL::bigint AS walk_end
        FROM walked w WHERE w.is_found AND (SELECT a.paused FROM carillon.apps a WHERE a.id = w.app) IS NOT TRUE
        UNION ALL
        SELECT k.app, k.lane, NULL, NULL, NULL FROM unnest($8::integer[], $9::smallint[], $10::bigint[]) AS k(app, lane, floor)
        WHERE (
            SELECT m.id FROM carillon.messages m WHERE m.app_id = k.app AND m.lane = k.lane AND m.id >= k.floor
            ORDER BY m.id LIMIT 1) IS NOT NULL
        UNION ALL
        SELECT NULL, NULL, coalesce($5::timestamptz > now(), false) OR EXISTS (
                SELECT FROM carillon.scheduled s WHERE s.run_at <= now() AND (s.run_at, s.id) > ($5, $6::bigint)),
            (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint,
            (SELECT max(w.app * 65536 + w.lane) FROM walked w)
        """
    )

    /// A stop of the walk.
    private struct Stop {
        static let end = Self(app: Int64(Int32.max) + 1, lane: 0)

        let app: Int64
        let lane: Int32
        let firstApp: Int64
        let firstLane: Int32

        init(app: Int64, lane: Int32) {
            (self.app, self.lane, firstApp, firstLane) = (app, lane, app, lane)
        }

        init(_ lane: Lane) { self.init(app: Int64(lane.app), lane: Int32(lane.number)) }

        /// Before all lanes of the range, and after them.
        init(_ range: PausedRange) {
            (app, lane) = (Int64(range.last), Int32(Int16.max))
            (firstApp, firstLane) = (Int64(range.first), Int32(Int16.min))
        }
    }

    /// - Parameter position: Where to look for due jobs. A position after the present time, from before the database's clock was set
    ///   back, counts as due. Nil: nothing counts as due.
    static func parameters(
        _ range: LookRange,
        over paused: [PausedRange] = [],
        dueAfter position: DueFloor.Position?
    ) -> Parameters {
        let last = range.endsAtKnown ? range.known.last?.lane : nil
        let known = range.known.filter { known in known.lane == last || !paused.contains { $0.contains(known.lane.app) }
        }
        let start = range.start.map { Stop($0) } ?? Stop(app: Int64(Int32.min) - 1, lane: 0)
        let skipped = paused.map { Stop($0) }.filter { stop in
            (stop.app, stop.lane) > (start.app, start.lane) && last.map { stop.app < $0.app } ?? true
        }
        let between = (known.map { Stop($0.lane) } + skipped).sorted { ($0.app, $0.lane) < ($1.app, $1.lane) }
        let stops = [start] + between + (last == nil ? [.end] : [])
        let asked = known + range.others
        return Parameters(
            PostgresArray(stops.lazy.map(\.app)),
            PostgresArray(stops.lazy.map(\.lane)),
            PostgresArray(stops.lazy.map(\.firstApp)),
            PostgresArray(stops.lazy.map(\.firstLane)),
            position?.time,
            position?.id,
            // The first stop is a row too.
            range.maxSteps.map { Int64($0 + 1) },
            PostgresArray(asked.lazy.map(\.lane.app)),
            PostgresArray(asked.lazy.map(\.lane.number)),
            PostgresArray(asked.lazy.map(\.id))
        )
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
