import CarillonPostgres
import TestSupport
import Testing

/// Jobs that a user's constraints and triggers keep out of the queue: they fail with a reason and delay no other job.
@Suite(.demo) struct RefusedJobTests {
    /// Ways to keep jobs with the token `ba` out of a table.
    enum Bar: String, CaseIterable, Sendable {
        case constraint
        case trigger
        case silentTrigger

        func keep(outOf table: String) -> String {
            let action = self == .trigger ? "RAISE EXCEPTION 'not now'" : "RETURN NULL"
            return self == .constraint
                ? "ALTER TABLE \(table) ADD CONSTRAINT mine CHECK ('ba' <> ALL (tokens)) NOT VALID"
                : """
                CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN IF 'ba' = ANY (NEW.tokens) THEN \(action); END IF; RETURN NEW; END $$;
                CREATE TRIGGER mine BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION mine()
                """
        }
    }

    private static let waiting = "SELECT t FROM carillon.messages m, unnest(m.tokens) t ORDER BY 1"
    private static let failures = "SELECT message_id, token, reason FROM carillon.failures ORDER BY 1, 2"
    private static let results = "SELECT message_id, sent, failed FROM carillon.results ORDER BY 1"

    private static func held(_ id: Int, _ tokens: String) -> String {
        """
        carillon.job(id => \(id), lane => 1::smallint, tokens => '\(tokens)', payload => '{}', created_at => now())
        """
    }

    @Test func `a message that cannot be read ends with one failure, and so does a part of one`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload, reference, origin) VALUES
                (100, 1, '{aa}', '{}', 'r', NULL), (101, 1, '{bb}', '{}', 's', 90);
            INSERT INTO carillon.unfinished (message_id, app_id, remaining, sent) VALUES (90, 1, 1, 5)
            """
        )
        for id in [100, 101, 100, 101] {
            try await database.run("SELECT carillon.discard_unreadable(1, 1::smallint, \(id))")
        }
        #expect(
            try await database.rows("SELECT message_id, reason FROM carillon.failures ORDER BY 1") == [
                "(90,Unreadable)", "(100,Unreadable)",
            ]
        )
        #expect(
            try await database.rows("SELECT message_id, sent, failed FROM carillon.results ORDER BY 1") == [
                "(90,5,1)", "(100,0,1)",
            ]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.pending") == "0")
    }

    @Test(arguments: Bar.allCases)
    func `a job that cannot be released, taken over or promoted fails, and the others return`(bar: Bar) async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
                (\(worker), 1, ARRAY[\(Self.held(100, "{aa}")), \(Self.held(101, "{ba}")), \(Self.held(102, "{ab}"))]),
                (999, 1, ARRAY[\(Self.held(103, "{ba,bb}")), \(Self.held(104, "{ac}"))]);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES
                (105, 1, '{ba}', '{}', now()), (106, 1, '{ad}', '{}', now()), (107, 1, '{ae}', '{}', now());
            \(bar.keep(outOf: "carillon.messages"));
            """
        )
        try await database.run("SELECT carillon.release(\(worker), '{1}')")
        #expect(try await database.rows("SELECT jobs FROM carillon.take_over(\(worker))") == ["(2)"])
        #expect(try await database.rows("SELECT jobs FROM carillon.promote(10) WHERE app_id = 1") == ["(3)"])
        #expect(try await database.rows(Self.waiting) == ["(aa)", "(ab)", "(ac)", "(ad)", "(ae)"])
        #expect(
            try await database.rows(Self.failures) == [
                "(101,ba,Unqueued)", "(103,ba,Unqueued)", "(103,bb,Unqueued)", "(105,ba,Unqueued)",
            ]
        )
        #expect(try await database.rows(Self.results) == ["(101,0,1)", "(103,0,2)", "(105,0,1)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.inflight") == "0")
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
        // Once the trigger is dropped, it can be requeued.
        try await database.run(
            bar == .constraint
                ? "ALTER TABLE carillon.messages DROP CONSTRAINT mine" : "DROP TRIGGER mine ON carillon.messages"
        )
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "4")
    }

    @Test(arguments: ["release(W, '{1}')", "take_over(W)", "promote(10)", "split(1, 1::smallint, 103, 2)"])
    func `without the right to insert into the queue, jobs stay where they are`(call: String) async throws {
        let worker = try await database.addWorker()
        try await database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
                (\(worker), 1, ARRAY[\(Self.held(100, "{aa}"))]), (999, 1, ARRAY[\(Self.held(101, "{bb}"))]);
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at) VALUES (102, 1, '{cc}', '{}', now());
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (103, 1, '{aa,bb,cc}', '{}');
            REVOKE INSERT ON carillon.messages FROM carillon_worker;
            SET ROLE carillon_worker
            """
        )
        let named = call.replacing("W", with: "\(worker)")
        let error = await #expect(throws: PostgresError.self) {
            _ = try await database.rows("SELECT c::text FROM carillon.\(named) AS c")
        }
        #expect(error?.sqlState == "42501")
        try await database.run("RESET ROLE")
        for table in ["inflight", "scheduled", "messages"] {
            let count = try await database.number("SELECT count(*) FROM carillon.\(table)")
            #expect(count == (table == "inflight" ? 2 : 1))
        }
        #expect(try await database.rows(Self.failures) == [])
    }

    @Test(arguments: Bar.allCases)
    func `jobs of a split message that cannot be stored fail, and the others are sent`(bar: Bar) async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (100, 1, '{aa,ab,ba,bb,ac}', '{}');
            \(bar.keep(outOf: "carillon.messages"));
            SELECT carillon.split(1, 1::smallint, 100, 2)
            """
        )
        #expect(try await database.rows(Self.waiting) == ["(aa)", "(ab)", "(ac)"])
        #expect(try await database.rows(Self.failures) == ["(100,ba,Unqueued)", "(100,bb,Unqueued)"])
        let worker = try await database.addWorker()
        while try await !database.claim(by: worker).isEmpty { try await database.settleAll(of: worker) }
        #expect(try await database.rows(Self.results) == ["(100,3,2)"])
    }

    @Test(arguments: Bar.allCases)
    func `a retry that cannot be stored fails, and the others are retried`(bar: Bar) async throws {
        try await database.run(
            """
            \(bar.keep(outOf: "carillon.scheduled"));
            SELECT carillon.return_jobs(1, ARRAY[\(Self.held(100, "{aa}")), \(Self.held(101, "{ba}")),
                \(Self.held(102, "{ab}"))], '{60000,60000,120000}')
            """
        )
        #expect(
            try await database.rows(
                "SELECT id, round(extract(epoch FROM run_at - now())) FROM carillon.scheduled ORDER BY id"
            ) == ["(100,60)", "(102,120)"]
        )
        #expect(try await database.rows(Self.failures) == ["(101,ba,Unqueued)"])
        #expect(try await database.rows(Self.results) == ["(101,0,1)"])
    }
}
