import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// What looking for work costs the server.
@Suite(.demo) struct LookTests {
    private func look(
        _ database: TestDatabase,
        _ range: LookRange,
        over paused: [PausedRange] = []
    ) async throws -> LookRows {
        let parameters = LookStatements.parameters(range, over: paused, dueAfter: nil)
        return try await database.connection.query(LookStatements.above, parameters) { try LookRows($0) }
    }

    private func look(_ database: TestDatabase, over paused: [PausedRange]) async throws -> [Lane] {
        let known = [20, 998].map { (Lane(app: $0, number: 1), Int64(0)) }
        return try await look(database, LookRange(known: known), over: paused).lanes.sorted()
    }

    @Test func `a look skips runs of paused apps in one step, and skips no other app`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (id, name, paused)
            SELECT i, 'app ' || i, i NOT IN (2, 500, 501, 998) FROM generate_series(2, 1002) i WHERE i <> 700;
            INSERT INTO carillon.messages (app_id, lane, tokens, payload)
            SELECT i, i % 3, '{aa}', '{}' FROM generate_series(2, 1010) i;
            """
        )
        let ranges: [PausedRange] = try await database.connection.query(PausedRange.statement, Parameters()) {
            try $0.records()
        }
        #expect(
            Set(ranges) == [
                PausedRange(first: 3, last: 499), PausedRange(first: 502, last: 699),
                PausedRange(first: 701, last: 997),
                PausedRange(first: 999, last: 1002),
            ]
        )
        let scans = "SELECT pg_stat_get_xact_numscans('carillon.messages_pkey'::regclass)"
        try await database.run("BEGIN")
        let begin = try #require(Int(try await database.value(scans) ?? ""))
        let lanes = try await look(database, over: ranges)
        let end = try #require(Int(try await database.value(scans) ?? ""))
        try await database.run("COMMIT")
        #expect(end - begin < 60)
        // Apps that are not paused, and apps without a row of apps.
        #expect(lanes.map(\.app) == [2, 500, 501, 700, 998, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010])
        let all = try await look(database, over: [])
        // A known lane is looked at even if its app is paused.
        #expect(all.filter { $0.app != 20 } == lanes)
    }

    @Test func `a look finds lanes at both ends of the ranges, beside known and paused ones`() async throws {
        let ends = [
            Lane(app: .min, number: .min), Lane(app: .min, number: .max), Lane(app: .max, number: .min),
            Lane(app: .max, number: .max),
        ]
        for lane in ends {
            try await database.run(
                "INSERT INTO carillon.messages (app_id, lane, tokens, payload) VALUES (\(lane.app), \(lane.number), '{aa}', '{}')"
            )
        }
        #expect(try await look(database, over: []) == ends)
        let paused = [PausedRange(first: 1, last: 4), PausedRange(first: 2_147_483_640, last: 2_147_483_646)]
        #expect(try await look(database, over: paused) == ends)
        // Those that are known.
        for known in ends {
            let found = try await look(database, LookRange(known: [(known, Int64.min)]))
            #expect(found.lanes.sorted() == ends && found.end == nil)
        }
        // Whatever the number of steps.
        for maxSteps in 1...5 {
            var range = LookRange(maxSteps: maxSteps)
            var found: [Lane] = []
            repeat {
                let answer = try await look(database, range, over: paused)
                found += answer.lanes
                range.start = answer.end
            } while range.start != nil
            #expect(found == ends)
        }
    }

    @Test func `looks of a few steps together find all lanes once, and skip known ones`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (id, name, paused) SELECT i, 'app ' || i, i BETWEEN 40 AND 59 FROM generate_series(2, 100) i;
            INSERT INTO carillon.messages (app_id, lane, tokens, payload)
            SELECT i, lane, '{aa}', '{}' FROM generate_series(2, 100) i, unnest('{-5,0,1,2,32767}'::smallint[]) AS lane
            """
        )
        let lanes = (Int32(2)...100).flatMap { app in [-5, 0, 1, 2, 32767].map { Lane(app: app, number: $0) } }
        let unpaused = lanes.filter { !(40...59).contains($0.app) }
        var random = SeededGenerator(seed: .random(in: .min ... .max))
        let seed = random
        for paused in [[], [PausedRange(first: 40, last: 59)]] {
            // Their floors are above their rows.
            let known = lanes.filter { _ in Bool.random(using: &random) }.map { (lane: $0, id: Int64.max) }
            let maxSteps = Int.random(in: 1...50, using: &random)
            var found: [Lane] = []
            var start: Lane?
            repeat {
                let ahead = known.filter { known in start.map { $0 < known.lane } ?? true }
                let range = LookRange(
                    start: start,
                    known: Array(ahead.prefix(maxSteps)),
                    endsAtKnown: ahead.count > maxSteps,
                    maxSteps: maxSteps
                )
                let answer = try await look(database, range, over: paused)
                #expect(answer.lanes.count <= maxSteps)
                found += answer.lanes
                start = answer.end
            } while start != nil
            let unknown = unpaused.filter { lane in !known.contains { $0.lane == lane } }
            #expect(found == unknown, "\(seed), \(maxSteps) steps")
        }
    }

    @Test func `a look says whether jobs are due after a position, and takes one in the future for due`() async throws {
        func isDue(after position: DueFloor.Position?) async throws -> Bool {
            let parameters = LookStatements.parameters(LookRange(), dueAfter: position)
            return try await database.connection.query(LookStatements.above, parameters) {
                try LookRows($0).isDue
            }
        }
        #expect(try await !isDue(after: .beginning))
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES
                (100, 1, '{aa}', '{}', '2020-01-01Z'), (101, 1, '{aa}', '{}', now() + interval '1 hour')
            """
        )
        let due = try await database.connection.query(
            Statement("due_time", "SELECT s.run_at FROM carillon.scheduled s WHERE s.id = 100")
        ) { try $0.moment(0, 0) }
        #expect(try await isDue(after: .beginning))
        #expect(try await isDue(after: DueFloor.Position(time: due, id: 99)))
        #expect(try await !isDue(after: DueFloor.Position(time: due, id: 100)))
        #expect(try await isDue(after: DueFloor.Position(time: .infinity, id: .max)))
        #expect(try await !isDue(after: nil))
    }

    @Test func `due jobs of more than a megabyte move one at a time, and all of them move`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT nextval('carillon.messages_id_seq'), 1, ARRAY[repeat('a', CASE WHEN i % 2 = 0 THEN 1200000 ELSE 64 END)], '{}',
                '2020-01-01Z' FROM generate_series(1, 5) i
            """
        )
        var place = DueFloor.Position.beginning
        var moved: [Int] = []
        for _ in 0..<6 {
            let parameters = PromotionRows.parameters(maxRows: 1000, after: place)
            let answer = try await database.connection.query(PromotionRows.statement, parameters) {
                try PromotionRows($0)
            }
            moved.append(answer.rows)
            place = answer.next
        }
        #expect(moved == [1, 1, 1, 1, 1, 0])
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "5")
    }

    @Test func `a look for due jobs continues where the last one ended, however many were due before`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT nextval('carillon.messages_id_seq'), 1, '{aa}', '{}',
                CASE WHEN i <= 2500 THEN '2020-01-01Z' ELSE now() END FROM generate_series(1, 5000) i
            """
        )
        // While this transaction is open, moved rows stay in the index.
        try await database.session { other in
            try await other.run("BEGIN ISOLATION LEVEL REPEATABLE READ")
            #expect(try await other.value("SELECT count(*) FROM carillon.scheduled") == "5000")
            var place = DueFloor.Position.beginning
            var moved = 0
            for _ in 0..<6 {
                let parameters = PromotionRows.parameters(maxRows: 1000, after: place)
                let answer = try await database.connection.query(PromotionRows.statement, parameters) {
                    try PromotionRows($0)
                }
                moved += answer.rows
                #expect(answer.next > place)
                place = answer.next
            }
            #expect(moved == 5000)
            let reads = "SELECT pg_stat_get_xact_blocks_fetched('carillon.scheduled'::regclass)"
            var counts: [Int] = []
            for start in [DueFloor.Position.beginning, place] {
                try await database.run("BEGIN")
                let begin = try #require(Int(try await database.value(reads) ?? ""))
                let parameters = PromotionRows.parameters(maxRows: 1000, after: start)
                try await database.connection.execute(PromotionRows.statement, parameters)
                counts.append(try #require(Int(try await database.value(reads) ?? "")) - begin)
                try await database.run("COMMIT")
            }
            #expect(counts[0] > 20 && counts[1] < 5, "blocks read: \(counts)")
            // The sweep finds rows that were committed late.
            try await database.run(
                """
                INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
                VALUES (nextval('carillon.messages_id_seq'), 1, '{bb}', '{}', '2020-01-01Z')
                """
            )
            for (start, expected) in [(place, 0), (.beginning, 1)] {
                let parameters = PromotionRows.parameters(maxRows: 1000, after: start)
                let answer = try await database.connection.query(PromotionRows.statement, parameters) {
                    try PromotionRows($0)
                }
                #expect(answer.rows == expected)
            }
            try await other.run("COMMIT")
        }
    }
}
