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
        ALTER FUNCTION carillon.webhook_batch RENAME TO webhook_batch_before;
        CREATE FUNCTION carillon.webhook_batch(webhook bigint, batch_id uuid) RETURNS SETOF carillon.event
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            IF webhook = 2 THEN
                RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = 'not these';
            END IF;
            RETURN QUERY SELECT * FROM carillon.webhook_batch_before(webhook, batch_id);
        END $$
        """
    private static let settling = """
        ALTER FUNCTION carillon.settle_webhook RENAME TO settle_webhook_before;
        CREATE FUNCTION carillon.settle_webhook(webhook bigint, batch_id uuid, attempt integer, error text,
            wait_seconds double precision, pauses boolean, slow boolean) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            IF webhook = 2 AND error IS NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = 'not these';
            END IF;
            RETURN carillon.settle_webhook_before(webhook, batch_id, attempt, error, wait_seconds, pauses, slow);
        END $$
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
