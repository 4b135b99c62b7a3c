import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// A plain INSERT may have any lane, and the job is seen wherever jobs are looked for.
@Suite(.demo) struct LaneTests {
    @Test(arguments: [Int16(-3), 7, 32767])
    func `a job is seen in any lane`(lane: Int16) async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, lane, tokens, payload, reference, created_at)
            VALUES (1, \(lane), '{aa}', '{"aps":{}}', 'r', now() - interval '5 minutes')
            """
        )
        let id = try #require(try await database.value("SELECT id FROM carillon.messages"))
        let seen = [
            "SELECT ready, date_trunc('minute', oldest_age) FROM carillon.app_status": "(1,00:05:00)",
            "SELECT state, lane FROM carillon.pending": "(ready,\(lane))",
            "SELECT app FROM carillon.search_token('aa')": "(demo)",
            "SELECT app, id FROM carillon.search_reference('r')": "(demo,\(id))",
            "SELECT payload FROM carillon.message_contents(\(id), 'demo')": #"("{""aps"":{}}")"#,
            "SELECT state, tokens FROM carillon.message_status(\(id))": "(ready,1)",
            "SELECT app_id, lane FROM carillon.find_job(\(id))": "(1,\(lane))",
            "SELECT * FROM carillon.find_messages(\(id), NULL)": "(1,\(id))",
            "SELECT * FROM carillon.find_messages(NULL, 'r')": "(1,\(id))",
        ]
        for (query, row) in seen { #expect(try await database.rows(query) == [row], "\(query)") }
        let look = LookStatements.parameters(LookRange(), dueAfter: nil)
        let found = try await database.connection.query(LookStatements.above, look) { try LookRows($0) }
        #expect(found.lanes == [Lane(app: 1, number: lane)])
        #expect(try await database.value("carillon.cancel(\(id))") == "1")
    }

    @Test func `the age of an app is read from one row of each lane`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, lane, tokens, payload)
            SELECT 1, lane, '{aa}', '{}' FROM generate_series(1, 20000), unnest('{-3,1,7,32767}'::smallint[]) AS lane;
            ANALYZE carillon.messages
            """
        )
        let rows = "SELECT pg_stat_get_xact_tuples_fetched('carillon.messages_pkey'::regclass)"
        try await database.run("BEGIN")
        let before = try await database.number(rows)
        try await database.run("SELECT oldest_age FROM carillon.app_status")
        #expect(try await database.number(rows) - before == 4)
        try await database.run("COMMIT")
    }
}
