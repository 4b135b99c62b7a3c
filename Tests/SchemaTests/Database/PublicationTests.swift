import CarillonPostgres
import TestSupport
import Testing

/// Logical replication of a whole database, which our tables must allow.
@Suite(.demo) struct PublicationTests {
    @Test func `a publication for all tables does not prevent updates and deletes`() async throws {
        try await database.run(
            """
            CREATE PUBLICATION everything FOR ALL TABLES;
            INSERT INTO carillon.results (message_id, app_id, finished_at) VALUES
                (1, 1, now() - interval '20 days'), (2, 1, now());
            INSERT INTO carillon.failures (message_id, app_id, token, reason, failed_at) VALUES
                (1, 1, 'aa', 'x', now() - interval '20 days'), (2, 1, 'aa', 'x', now());
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown, failed_at)
            VALUES (1, 1, 1, '{}', 'alert', 'retry', now() - interval '20 days'), (2, 1, 1, '{}', 'alert', 'retry', now());
            INSERT INTO carillon.subscriptions (id, app_id, consumer, mask) VALUES (1, 1, 'c', -1);
            INSERT INTO carillon.events (id, app_id, at) VALUES (1, 1, now() - interval '20 days'), (2, 1, now());
            UPDATE carillon.apps SET keep_sent = '10 days';
            INSERT INTO carillon.sent_pushes (app_id, sent_at, message, token, apns_id) VALUES
                (1, now() - interval '20 days', '{1}', '{aa}', '{NULL}'), (1, now(), '{2}', '{aa}', '{NULL}');
            INSERT INTO carillon.untaken_events (subscription_id, event_id, at, mask, events)
            VALUES (1, 1, now() - interval '20 days', -1, 1), (1, 2, now(), -1, 1), (2, 2, now(), -1, 1);
            """
        )
        try await database.run("CALL carillon.maintain()")
        #expect(try await database.rows("SELECT target FROM carillon.maintenance WHERE last_failure IS NOT NULL") == [])
        for table in ["results", "failures", "failed_messages"] {
            #expect(try await database.rows("SELECT message_id FROM carillon.\(table)") == ["(2)"])
        }
        #expect(try await database.rows("SELECT id FROM carillon.events") == ["(2)"])
        #expect(try await database.rows("SELECT message FROM carillon.sent_pushes") == ["({2})"])
        // Also those of a consumer that is gone.
        #expect(try await database.rows("SELECT subscription_id, event_id FROM carillon.untaken_events") == ["(1,2)"])
        #expect(try await database.value("carillon.requeue_failures(everything => true)") == "1")
        // Every table, also a later one, needs a replica identity.
        #expect(
            try await database.rows(
                """
                SELECT c.relname FROM pg_class c
                WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND c.relreplident <> 'f'
                    AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)
                """
            ) == []
        )
    }
}
