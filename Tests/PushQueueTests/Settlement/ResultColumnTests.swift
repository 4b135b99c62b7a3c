import TestSupport
import Testing

@testable import CarillonPushQueue

/// The columns of `results`, against everything that lists them.
@Suite(.demo) struct ResultColumnTests {
    @Test func `the model of the simulation has each column, or says that it leaves it out`() async throws {
        let columns = try await database.rows(
            """
            SELECT a.attname FROM pg_attribute a
            WHERE a.attrelid = 'carillon.results'::regclass AND a.attnum > 0 AND NOT a.attisdropped
            """
        )
        let known = ModelProgress.others.union(ModelProgress.columns.map(\.name))
        #expect(Set(columns).symmetricDifference(known.map { "(\($0))" }) == [])
    }

    /// A way in which the message 70 ends.
    struct Way: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The arguments of `carillon.ending` and `carillon.settle` become statements.
        let statements: @Sendable (_ ending: String, _ settle: String) -> String
        /// Columns that keep their defaults.
        var unused: [String] = []
    }

    private static let ways = [
        Way(testDescription: "whole") { ending, _ in
            "SELECT carillon.end_messages(1, ARRAY[carillon.ending(\(ending))], 9)"
        },
        Way(testDescription: "counted") { ending, _ in
            "SELECT carillon.end_messages(1, ARRAY[carillon.ending(\(ending), remaining => 0)], 9)"
        },
        // The first of them brings nothing but what all jobs of a message have in common.
        Way(testDescription: "in two parts") { ending, _ in
            """
            SELECT carillon.end_messages(1, ARRAY[carillon.ending(message_id => 70, reference => 'x', broadcast_id => 70,
                created_at => '2001-01-01', attempts => 1, remaining => 28)]);
            SELECT carillon.end_messages(1, ARRAY[carillon.ending(\(ending), remaining => 0)], 9)
            """
        },
        Way(
            testDescription: "settled whole",
            statements: { _, settle in
                """
                INSERT INTO carillon.workers (id, name, lease_until) VALUES (9, 'w', now() + interval '1 hour');
                INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES (9, 1, ARRAY[
                    carillon.job(id => 70, lane => 1::smallint, tokens => '{aa}', payload => '{}')]);
                SELECT carillon.settle(\(settle))
                """
            },
            unused: ["cancelled"]
        ),
    ]

    /// A value of a type, which is the default of no column.
    private static func value(of type: String) -> String {
        """
        CASE \(type) WHEN 'bigint' THEN '70' WHEN 'integer' THEN '7' WHEN 'smallint' THEN '3::smallint' WHEN 'text' THEN '''x'''
            WHEN 'boolean' THEN 'true' WHEN 'timestamp with time zone' THEN '''2001-01-01'''
            WHEN 'jsonb' THEN '''{"aa": "b"}''' ELSE 'NULL' END
        """
    }

    private static let endingArguments = """
        SELECT string_agg(format('%s => %s', a.attname, \(value(of: "format_type(a.atttypid, NULL)"))), ', ')
        FROM pg_attribute a WHERE a.attrelid = 'carillon.ending'::regclass AND a.attname <> 'remaining'
        """

    /// Of a claim whose only message has ended, and of which nothing else is to be said.
    private static let settleArguments = """
        SELECT string_agg(format('%s => %s', a.name, CASE a.name WHEN 'app' THEN '1' WHEN 'worker' THEN '9'
            WHEN 'claim' THEN '(SELECT f.id FROM carillon.inflight f)' WHEN 'settlement_number' THEN '0::smallint'
            WHEN 'claimed' THEN '(SELECT f.claimed_at FROM carillon.inflight f)'
            WHEN 'ended' THEN '''{70}''' WHEN 'ended_remaining' THEN '''{NULL}'''
            WHEN 'identified' THEN '''{70}''' WHEN 'identified_token' THEN '''{aa}'''
            WHEN 'identified_unique_id' THEN format('ARRAY[%L::uuid]', gen_random_uuid())
            ELSE CASE WHEN a.name LIKE 'ended%' THEN
                format('ARRAY[%s]::%s', \(value(of: "replace(a.type, '[]', '')")), a.type) ELSE '''{}''' END END), ', ')
        FROM (SELECT n.name, format_type(n.type, NULL) AS type FROM pg_proc p,
                unnest(p.proargnames, p.proargtypes::oid[]) AS n(name, type)
            WHERE p.oid = 'carillon.settle'::regproc) AS a
        """

    @Test(arguments: ways) func `each column gets its value, however a message ends`(_ way: Way) async throws {
        let ending = try #require(try await database.value(Self.endingArguments))
        let settle = try #require(try await database.value(Self.settleArguments))
        // A row of defaults.
        try await database.run("INSERT INTO carillon.results (message_id, app_id) VALUES (1, 1)")
        try await database.run(way.statements(ending, settle))
        #expect(try await database.number("SELECT count(*) FROM carillon.results WHERE message_id = 70") == 1)
        let forgotten = try await database.rows(
            """
            SELECT c.key FROM carillon.results r, jsonb_each(to_jsonb(r)) AS c, carillon.results d
            WHERE r.message_id = 70 AND d.message_id = 1 AND c.value = to_jsonb(d) -> c.key
                AND c.key <> ALL ('{\((["app_id"] + way.unused).joined(separator: ","))}')
            """
        )
        #expect(forgotten == [])
    }

    /// Calls of `carillon.record_ended` for the message 70: one with no column of values, and one with each of them alone.
    private static let recordings = """
        WITH arguments AS (
            SELECT n.name, format_type(n.type, NULL) AS type
            FROM pg_proc p, unnest(p.proargnames, p.proargtypes::oid[]) AS n(name, type)
            WHERE p.oid = 'carillon.record_ended'::regproc
        )
        SELECT string_agg(c.call, ';' ORDER BY c.name NULLS FIRST) FROM (
            SELECT o.name, format('SELECT carillon.record_ended(%s)', string_agg(format('%s => %s', a.name,
                CASE a.name WHEN o.name THEN format('ARRAY[%s]::%s', \(value(of: "replace(a.type, '[]', '')")), a.type)
                    WHEN 'app' THEN '1' WHEN 'worker' THEN '9' WHEN 'ended' THEN '''{70}''' ELSE '''{}''' END), ', ')) AS call
            FROM (SELECT NULL AS name UNION ALL SELECT e.name FROM arguments e WHERE starts_with(e.name, 'ended_')) AS o
            CROSS JOIN arguments a GROUP BY o.name
        ) AS c
        """

    @Test func `a column gets its value even if all others are empty`() async throws {
        let calls = try #require(try await database.value(Self.recordings)).split(separator: ";").map(String.init)
        try #require(calls.count > 2)
        var recorded: [String?] = []
        for call in calls {
            try await database.run("DELETE FROM carillon.results; \(call)")
            // A message that has not ended whole is in unfinished.
            recorded.append(
                try await database.value("SELECT (to_jsonb(r) - 'finished_at')::text FROM carillon.results r")
            )
        }
        #expect(recorded[0] != nil)
        for (call, row) in zip(calls, recorded).dropFirst() { #expect(row != recorded[0], "\(call)") }
    }
}
