import ApplePush
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// A claim settled in parts, in a real database.
@Suite struct PartialSettlementTests {
    /// Three messages: one with three tokens, one with two, and one with a single one that must not be sent twice.
    private func withClaim(_ body: (TestDatabase, ClaimedJobs) async throws -> Void) async throws {
        try await TestDatabase.withDemo { database in
            try await database.run(
                """
                INSERT INTO carillon.workers (name, lease_until) VALUES ('one', now() + interval '1 hour'),
                    ('two', now() + interval '1 hour');
                INSERT INTO carillon.messages (app_id, tokens, payload, on_unknown, reference) VALUES
                    (1, '{aa,bb,cc}', '{"aps":{}}', 'retry', 'first'), (1, '{dd,ee}', '{"aps":{}}', 'retry', NULL),
                    (1, '{ff,0f}', '{"aps":{}}', 'fail', NULL)
                """
            )
            try await body(database, try await claim(as: 1, in: database))
        }
    }

    private func claim(as worker: Int64, in database: TestDatabase) async throws -> ClaimedJobs {
        let plan = ClaimPlan(lane: Lane(app: 1, number: 1), depth: .deep, floor: 0, rows: 100, pushes: 100)
        var settings = AppSettings(name: "demo")
        settings.topic = "com.example.demo"
        let app = RoutedApp(App(id: 1, settings: settings), .failure(Hold(.setting, "none")))
        let parameters = ClaimStatement.parameters(plan, worker: worker, maxBytes: 100_000)
        let answer = try await database.connection.query(ClaimStatement.statement, parameters) { rows in
            try ClaimRows(rows, plan, app: app, installation: (1, 2))
        }
        return try #require(answer.jobs)
    }

    private func settlement(
        _ claim: ClaimedJobs,
        _ outcomes: [String: Outcome],
        after earlier: [String: Outcome]? = nil
    ) -> Settlement {
        var generator = SeededGenerator(seed: 3)
        return Settlement(
            claim,
            self.outcomes(claim, outcomes),
            after: earlier.map { self.outcomes(claim, $0) },
            policy: RetryPolicy(base: .seconds(60), cap: .seconds(60)),
            maxAttempts: 10,
            now: claim.claimedAt,
            using: &generator
        )
    }

    /// Those tokens end like that, all others do not.
    private func outcomes(_ claim: ClaimedJobs, _ ends: [String: Outcome]) -> Outcomes {
        Outcomes((0..<claim.batch.count).map { ends[claim.batch.token(of: $0)] ?? .pending })
    }

    private func write(
        _ settlement: Settlement,
        of claim: ClaimedJobs,
        settlementNumber: Int16,
        as worker: Int64 = 1,
        in database: TestDatabase
    ) async throws -> SettleEffect {
        let arguments = SettleArguments(settlement, of: claim, worker: worker, settlementNumber: settlementNumber)
        return try await database.connection.query(SettleArguments.statement, arguments.parameters) {
            try SettleEffect($0)
        }
    }

    private let fast: [String: Outcome] = [
        "aa": .accepted, "bb": Outcome(.rejected, status: 503), "ee": .accepted, "ff": .accepted,
    ]

    private let inFlight = """
        SELECT i.settlements, j.id, j.origin, j.tokens FROM carillon.inflight i, unnest(i.jobs) j ORDER BY j.id
        """
    private let results = """
        SELECT r.message_id, r.reference, r.sent, r.failed, r.attempts FROM carillon.results r ORDER BY r.message_id
        """

    @Test
    func `the first part leaves the unanswered pushes in flight, and writing it again changes nothing`() async throws {
        try await withClaim { database, claim in
            let first = settlement(claim, fast)
            #expect(try await write(first, of: claim, settlementNumber: 0, in: database) == .written)
            try await checkFirstPart(in: database)
            // The answer was lost: what is written again was written.
            #expect(try await write(first, of: claim, settlementNumber: 0, in: database) == .before)
            try await checkFirstPart(in: database)
        }
    }

    private func checkFirstPart(in database: TestDatabase) async throws {
        #expect(try await database.rows(inFlight) == ["(1,1,1,{cc})", "(1,2,2,{dd})", "(1,3,3,{0f})"])
        #expect(try await database.rows(results) == [])
        let unfinished = try await database.rows(
            "SELECT message_id, remaining, sent FROM carillon.unfinished ORDER BY message_id"
        )
        #expect(unfinished == ["(1,2,1)", "(2,1,1)", "(3,1,1)"])
        #expect(try await database.rows("SELECT origin, tokens, attempt FROM carillon.scheduled") == ["(1,{bb},2)"])
    }

    /// As when a pooler is pointed at a restored backup. The worker lived when that was made, so the copy has its row.
    @Test func `a settlement that reaches a copy of the database fails there, and is then written to the original`()
        async throws
    {
        try await withClaim { database, claim in
            let home = try await database.number("SELECT database_oid FROM carillon.installation")
            let first = settlement(claim, fast)
            try await TestDatabase.withDemo { copy in
                try await copy.run(
                    """
                    INSERT INTO carillon.workers (name, lease_until) VALUES ('one', now() + interval '1 hour');
                    UPDATE carillon.installation SET database_oid = \(home); SET ROLE carillon_worker
                    """
                )
                let error = await #expect(throws: PostgresError.self) {
                    _ = try await write(first, of: claim, settlementNumber: 0, in: copy)
                }
                #expect(error?.isTransient == true && error?.message.contains("this database is a copy") == true)
            }
            #expect(try await write(first, of: claim, settlementNumber: 0, in: database) == .written)
            try await checkFirstPart(in: database)
        }
    }

    @Test func `the second part settles the rest, once`() async throws {
        try await withClaim { database, claim in
            _ = try await write(settlement(claim, fast), of: claim, settlementNumber: 0, in: database)
            let all = fast.merging(["cc": .accepted, "dd": Outcome(.rejected, status: 410), "0f": .accepted]) {
                $1
            }
            let rest = settlement(claim, all, after: fast)
            #expect(try await write(rest, of: claim, settlementNumber: 0, in: database) == .before)
            #expect(try await write(rest, of: claim, settlementNumber: 1, in: database) == .written)
            #expect(try await write(rest, of: claim, settlementNumber: 1, in: database) == .before)
            #expect(try await database.rows(inFlight) == [])
            #expect(try await database.rows(results) == ["(2,,1,1,1)", "(3,,2,0,1)"])
            #expect(
                try await database.rows("SELECT message_id, remaining, sent FROM carillon.unfinished") == ["(1,1,2)"]
            )
            // The retry is the last of its message.
            try await database.run(
                """
                INSERT INTO carillon.messages (app_id, lane, id, tokens, payload, reference, attempt, origin)
                SELECT s.app_id, s.lane, s.id, s.tokens, s.payload, s.reference, s.attempt, s.origin
                FROM carillon.scheduled s;
                DELETE FROM carillon.scheduled
                """
            )
            let retry = try await self.claim(as: 1, in: database)
            #expect(retry.batch.token(of: 0) == "bb")
            let last = settlement(retry, ["bb": .accepted])
            #expect(try await write(last, of: retry, settlementNumber: 0, in: database) == .written)
            #expect(try await database.rows(results) == ["(1,first,3,0,2)", "(2,,1,1,1)", "(3,,2,0,1)"])
            #expect(try await database.rows("SELECT FROM carillon.unfinished") == [])
        }
    }

    @Test func `after a first part, a takeover returns only the rest, and nothing counts twice`() async throws {
        try await withClaim { database, claim in
            let first = settlement(claim, fast)
            _ = try await write(first, of: claim, settlementNumber: 0, in: database)
            #expect(try await database.rows("SELECT * FROM carillon.take_over(1, 0)") == ["(1,1,3)"])
            // The first worker is not dead after all: whatever it writes comes too late.
            let all = fast.merging(["cc": .accepted, "dd": .accepted, "0f": .accepted]) { $1 }
            let rest = settlement(claim, all, after: fast)
            #expect(try await write(first, of: claim, settlementNumber: 0, in: database) == .lost)
            #expect(try await write(rest, of: claim, settlementNumber: 1, in: database) == .lost)
            let again = try await self.claim(as: 2, in: database)
            #expect((0..<again.batch.count).map { again.batch.token(of: $0) }.sorted() == ["cc", "dd"])
            // Every try of a push has the identity that the first had.
            let ids = Dictionary(
                uniqueKeysWithValues: (0..<claim.batch.count).map {
                    (claim.batch.token(of: $0), claim.batch.id(of: $0))
                }
            )
            for place in 0..<again.batch.count {
                #expect(again.batch.id(of: place) == ids[again.batch.token(of: place)])
            }
            let ending = settlement(again, ["cc": .accepted, "dd": .accepted])
            #expect(try await write(ending, of: again, settlementNumber: 0, as: 2, in: database) == .written)
            #expect(try await database.rows(results) == ["(2,,2,0,1)", "(3,,1,1,1)"])
            #expect(
                try await database.rows("SELECT message_id, token, reason FROM carillon.failures")
                    == ["(3,0f,OutcomeUnknown)"]
            )
            #expect(
                try await database.rows("SELECT message_id, remaining, sent FROM carillon.unfinished") == ["(1,1,2)"]
            )
        }
    }

    @Test func `a job without an outcome stays whole in flight, and can be released`() async throws {
        try await withClaim { database, claim in
            let early: [String: Outcome] = ["dd": .accepted, "ee": .accepted, "ff": .accepted]
            _ = try await write(settlement(claim, early), of: claim, settlementNumber: 0, in: database)
            #expect(try await database.rows(inFlight) == ["(1,1,,\"{aa,bb,cc}\")", "(1,3,3,{0f})"])
            #expect(try await database.rows(results) == ["(2,,2,0,1)"])
            let all = early.merging(
                ["aa": Outcome(.safe), "bb": Outcome(.safe), "cc": Outcome(.safe), "0f": Outcome(.safe)]
            ) { $1 }
            let rest = settlement(claim, all, after: early)
            #expect(try await write(rest, of: claim, settlementNumber: 1, in: database) == .written)
            #expect(
                try await database.rows("SELECT id, origin, tokens, attempt FROM carillon.scheduled ORDER BY id")
                    == ["(1,,\"{aa,bb,cc}\",1)", "(3,3,{0f},1)"]
            )
        }
    }

    // MARK: Refused

    /// Writes as a worker does.
    private func settle(
        _ claim: ClaimedJobs,
        _ outcomes: [String: Outcome],
        after earlier: [String: Outcome]? = nil,
        in database: TestDatabase
    ) async throws -> SettlementWriting {
        var held = UnsettledClaim(claim, claimedAs: 1, returnedAt: .now)
        if let earlier { held.progress = .partSettled(self.outcomes(claim, earlier)) }
        let settlement = settlement(claim, outcomes, after: earlier)
        var writing = SettlementWriting(held, settlement, self.outcomes(claim, outcomes), hasRemainder: false)
        for _ in 0..<100 {
            if writing.isOver { return writing }
            let (statement, parameters) = writing.call
            do {
                writing.callEnded(
                    try await database.connection.query(statement, parameters) { try SettleEffect($0) }
                )
            } catch {
                #expect(!error.isTransient)
                _ = writing.callFailed(with: error)
            }
        }
        Issue.record("It never ended.")
        return writing
    }

    private let allDelivered: [String: Outcome] = [
        "aa": .accepted, "bb": Outcome(.rejected, status: 503), "cc": Outcome(.rejected, status: 410),
        "dd": .accepted,
        "ee": .accepted, "ff": .accepted, "0f": .accepted,
    ]

    @Test func `a job whose results violate a constraint ends alone, and its failures are correct`() async throws {
        try await withClaim { database, claim in
            try await database.run("ALTER TABLE carillon.results ADD CONSTRAINT even CHECK (message_id <> 2)")
            let writing = try await settle(claim, allDelivered, in: database)
            #expect(writing.isWritten)
            #expect(writing.unrecorded.map(\.job) == [1])
            #expect(try await database.rows(results) == ["(3,,2,0,1)"])
            #expect(
                try await database.rows(
                    "SELECT message_id, token, status, reason FROM carillon.failures ORDER BY message_id, token"
                ) == ["(1,cc,410,\"\")", "(2,dd,200,Unrecorded)", "(2,ee,200,Unrecorded)"]
            )
            #expect(try await database.rows("SELECT tokens FROM carillon.scheduled") == ["({bb})"])
            #expect(try await database.rows(inFlight) == [])
        }
    }

    @Test(arguments: [
        "0A000", "21000", "22012", "23514", "28000", "38000", "42501", "42P01", "55000", "P0004", "XX000", "U0001",
    ])
    func `a job ends whatever error a trigger on results raises, and the others are recorded`(state: String)
        async throws
    {
        try await withClaim { database, claim in
            try await database.run(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN IF new.message_id = 2 THEN RAISE EXCEPTION 'no' USING ERRCODE = '\(state)'; END IF; RETURN new; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION public.refuse()
                """
            )
            let writing = try await settle(claim, allDelivered, in: database)
            #expect(writing.isWritten)
            #expect(writing.unrecorded.map(\.job) == [1])
            #expect(
                try await database.rows("SELECT message_id, token, reason FROM carillon.failures WHERE message_id = 2")
                    == ["(2,dd,Unrecorded)", "(2,ee,Unrecorded)"]
            )
            #expect(try await database.rows(inFlight) == [])
        }
    }

    @Test func `a job whose failures a trigger refuses is recorded in results`() async throws {
        try await withClaim { database, claim in
            try await database.run(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN IF new.status = 410 THEN RAISE EXCEPTION 'no %', new.status; END IF; RETURN new; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON carillon.failures FOR EACH ROW EXECUTE FUNCTION public.refuse()
                """
            )
            let outcomes = allDelivered.merging(["bb": .accepted]) { $1 }
            let writing = try await settle(claim, outcomes, in: database)
            #expect(writing.unrecorded.map(\.job) == [0])
            #expect(try await database.rows(results) == ["(1,first,2,1,1)", "(2,,2,0,1)", "(3,,2,0,1)"])
            #expect(try await database.rows("SELECT FROM carillon.failures") == [])
            #expect(try await database.rows(inFlight) == [])
        }
    }

    @Test func `a message whose results are refused leaves no row of unfinished`() async throws {
        try await withClaim { database, claim in
            try await database.run("ALTER TABLE carillon.results ADD CONSTRAINT even CHECK (message_id <> 2)")
            let early: [String: Outcome] = ["dd": .accepted]
            _ = try await write(settlement(claim, early), of: claim, settlementNumber: 0, in: database)
            #expect(try await database.rows("SELECT message_id FROM carillon.unfinished") == ["(2)"])
            let writing = try await settle(claim, allDelivered, after: early, in: database)
            #expect(writing.unrecorded.map(\.job) == [1])
            #expect(try await database.rows("SELECT message_id FROM carillon.unfinished") == ["(1)"])
            #expect(
                try await database.rows("SELECT token, status FROM carillon.failures WHERE message_id = 2")
                    == ["(ee,200)"]
            )
        }
    }
}
