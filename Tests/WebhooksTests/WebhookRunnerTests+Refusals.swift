import CarillonIO
import TestSupport
import Testing

@testable import CarillonWebhooks

/// Statements that PostgreSQL refuses.
extension WebhookRunnerTests {

    /// Has a statement fail for the webhook 'bad', which comes before the other.
    private static let taking = """
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = 'not these'; END $$;
        CREATE TRIGGER refuse BEFORE DELETE ON carillon.untaken_events FOR EACH ROW WHEN (OLD.subscription_id = 2)
        EXECUTE FUNCTION public.refuse()
        """
    private static let reading = """
        DO $do$ BEGIN EXECUTE replace(pg_get_functiondef('carillon.webhook_batch'::regproc), E'BEGIN\\n',
            E'BEGIN IF webhook = 2 THEN RAISE EXCEPTION USING ERRCODE = ''P0001'', MESSAGE = ''not these''; END IF;\\n');
        END $do$
        """
    private static let settling = """
        CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = 'not these'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON carillon.webhooks FOR EACH ROW
        WHEN (OLD.id = 2 AND OLD.batch IS NOT NULL AND NEW.batch IS NULL) EXECUTE FUNCTION public.refuse()
        """

    @Test(arguments: [taking, reading, settling])
    func `what PostgreSQL refuses for one webhook is an error of that one, which waits, and stops no other`(
        refusing: String
    ) async throws {
        try await with { runner, _, record, loop in
            try await database.run(
                """
                SELECT carillon.add_webhook('bad', 'demo', url, NULL, true, ca) FROM carillon.webhooks;
                UPDATE carillon.webhooks SET next_attempt_at = now() - interval '1 hour' WHERE id = 2
                """
            )
            try await database.run("\(refusing); \(Self.note("a1"))")
            async let running: Void = runner.run()
            let done = "SELECT count(*) FROM carillon.webhook_status WHERE name = 'crm' AND events = 0"
            try await loop.eventually("the other receiver has accepted it") { try await database.number(done) == 1 }
            let bad = "SELECT state, last_error, events FROM carillon.webhook_status WHERE name = 'bad'"
            let failing = [#"(failing,"PostgreSQL refuses its events: not these",1)"#]
            try await loop.eventually("the error is recorded") { try await database.rows(bad) == failing }
            let waits = "SELECT count(*) FROM carillon.webhooks WHERE id = 2 AND next_attempt_at > now()"
            #expect(try await database.number(waits) == 1)
            try await database.run(Self.note("a2"))
            try await loop.eventually("it goes on") {
                let isDone = try await database.number(done) == 1
                return isDone && record.requests.contains { $0.body.contains("a2") }
            }
            await runner.stop(within: .seconds(60))
            await running
            #expect(!record.reports.contains { $0.contains("databaseLost") }, "\(record.reports)")
        }
    }

    @Test func `while claims are refused, the connection stays, the waits grow, and the worker is told of the first`()
        async throws
    {
        try await with { runner, _, record, loop in
            let sessions = """
                FROM pg_stat_activity WHERE application_name = 'carillon webhooks' AND datname = current_database()
                """
            async let running: Void = runner.run()
            try await loop.eventually("it listens") {
                try await database.number("SELECT count(*) \(sessions) AND query LIKE '%seconds_to_webhook%'") == 1
            }
            let process = try await database.number("SELECT pid \(sessions)")
            try await database.run("ALTER FUNCTION carillon.claim_webhooks RENAME TO claim_webhooks_before")
            try await database.run(Self.note("a1"))
            try await loop.eventually("it says so") { record.reports.contains { $0.contains("databaseLost") } }
            try await database.run("ALTER FUNCTION carillon.claim_webhooks_before RENAME TO claim_webhooks")
            try await loop.eventually("the event is accepted") { record.requests.count == 1 }
            #expect(try await database.number("SELECT pid \(sessions)") == process)
            #expect(record.refused == 1 && record.reports.count == 2, "\(record.reports)")
            await runner.stop(within: .seconds(60))
            await running
        }
    }
}
