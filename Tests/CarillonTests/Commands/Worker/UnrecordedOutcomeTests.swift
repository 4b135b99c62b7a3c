import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

/// What PostgreSQL refuses to write as it should be, because of what a user has added.
@Suite(.shop) struct UnrecordedOutcomeTests {
    @Test
    func `a message that only its failures tell of keeps its reference, and every command finds it`() async throws {
        try await shop.database.connection.script(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.reference = 'trg' THEN RAISE EXCEPTION 'no trg in here'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION refuse();
            SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("a0"))'], 'hi', reference => 'trg')
            """
        )
        let worker = try await shop.drain()
        #expect(worker.status == 0)
        let line = try #require(worker.errors.split(separator: "\n").first { $0.contains("refused part") })
        for part in [#""app":"shop""#, "no trg in here", "message show 1"] { #expect(line.contains(part)) }
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.results") == 0)
        #expect(
            try await shop.database.number(
                """
                SELECT count(*) FROM carillon.failures
                WHERE reference = 'trg' AND reason = 'Unrecorded' AND status = 200
                """
            ) == 1
        )
        for words in [
            ["message", "show", "1"], ["message", "show", "--reference", "trg"],
            ["failures", "list", "--message", "1"], ["failures", "list", "--reason", "Unrecorded"],
        ] {
            let run = try await shop.run(words)
            #expect(run.status == 0 && run.output.contains("Unrecorded"), "\(words): \(run.output)\(run.errors)")
        }
        #expect(try await shop.run("message", "cancel", "1").errors.contains("has ended (failed)"))
        let requeued = try await shop.run("failures", "requeue", "--message", "1", "--include-delivered")
        #expect(requeued.output == "Requeued 1 push.\n")
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages WHERE reference = 'trg'") == 1)
    }

    @Test
    func `a job of a split message that only its failures tell of is found by every id of that message`() async throws {
        try await shop.database.connection.script(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.message_id = 2 THEN RAISE EXCEPTION 'not the second'; END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION refuse();
            SELECT carillon.enqueue('shop', ARRAY(SELECT lpad(to_hex(i), 64, '0') FROM generate_series(1, 2500) i), 'hi')
            """
        )
        #expect(try await shop.drain("--settle-after", "1m").status == 0)
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.failures WHERE message_id = 2") == 1000)
        for id in 1...3 {
            let list = try await shop.run("failures", "list", "--message", "\(id)", "--limit", "5000", "--json")
            #expect(list.output.split(separator: "Unrecorded").count == 1001, "\(id)")
            let show = try await shop.run("message", "show", "\(id)")
            #expect(show.output.contains("1,500 sent, 1,000 failed"), "\(show.output)")
            let requeue = try await shop.run([
                "failures", "requeue", "--message", "\(id)", "--include-delivered", "--dry-run",
            ])
            #expect(requeue.output == "1,000 pushes would be requeued.\n", "\(id): \(requeue.output)")
        }
    }

    @Test func `a message that cannot leave the table of flights is told with what to do, and is not sent twice`()
        async throws
    {
        try await shop.database.connection.script(
            """
            CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'here it stays'; END $$;
            CREATE TRIGGER keep BEFORE DELETE ON carillon.inflight FOR EACH ROW EXECUTE FUNCTION keep()
            """
        )
        try await shop.enqueue(1)
        try await TestLoop.with { loop in
            let worker = try shop.start("worker")
            let line = try await worker.line(containing: "refuses to end a message", on: loop)
            for part in [
                #""level":"error""#, #""app":"shop","message_id":1"#, "here it stays", "carillon.inflight",
                "settle_unrecorded",
            ] {
                #expect(line.contains(part), "\(part)\n\(line)")
            }
            try await shop.database.connection.script("DROP TRIGGER keep ON carillon.inflight")
            try await loop.eventually("it has ended") {
                try await shop.database.number("SELECT count(*) FROM carillon.inflight") == 0
            }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
        #expect(await shop.gateway.receivedRequests().count == 1)
    }

    @Test func `a message that neither history takes is not said to be in one`() async throws {
        try await shop.database.connection.script(
            """
            ALTER TABLE carillon.results ADD CONSTRAINT mine CHECK (message_id < 0) NOT VALID;
            ALTER TABLE carillon.failures ADD CONSTRAINT mine CHECK (message_id < 0) NOT VALID;
            SELECT carillon.enqueue('shop', ARRAY['\(Shop.token("a0"))'], 'hi')
            """
        )
        let worker = try await shop.drain()
        let line = try #require(worker.errors.split(separator: "\n").first { $0.contains("refused a message") })
        #expect(line.contains("nothing") && !line.contains("message show"))
        #expect(line.contains(#""app":"shop""#) && line.contains(#"\"mine\""#))
    }
}
