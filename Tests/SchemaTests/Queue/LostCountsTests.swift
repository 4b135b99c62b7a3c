import CarillonPostgres
import TestSupport
import Testing

@Suite struct LostCountsTests {
    @Test func `the log has the counts of a message whose end no history takes, including those of its earlier jobs`()
        async throws
    {
        // All tests share the server and its log.
        let message = Int64.random(in: 1 << 40...1 << 50)
        try await TestDatabase.withDemo { database async throws in
            try await database.run(
                """
                ALTER TABLE carillon.results ADD CONSTRAINT mine CHECK (false) NOT VALID;
                INSERT INTO carillon.unfinished (app_id, message_id, remaining, sent, failed) VALUES (1, \(message), 2, 40, 3);
                SELECT carillon.end_unrecorded(1, jsonb_populate_record(NULL::carillon.job,
                    '{"id": 9, "origin": \(message), "attempt": 2, "payload": {}, "push_type": "alert", "on_unknown": "retry"}'),
                    'Unrecorded', '{aa,bb}', '{200,400}', '{NULL,NULL}')
                """
            )
            #expect(try await database.value("SELECT count(*) FROM carillon.unfinished") == "0")
        }
        let line = "the counts of message \(message) cannot be recorded: 41 sent, 4 failed, 0 expired, 0 cancelled"
        #expect(try await !TestCluster.log(with: line).isEmpty)
    }
}
