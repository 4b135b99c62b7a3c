import TestSupport
import Testing

extension TestDatabase {
    /// An app with the binary protocol, whose limits are other ones.
    func addBinaryApp() async throws {
        try await run(
            "INSERT INTO carillon.apps (name, topic, protocol) VALUES ('binary', 'com.example.demo', 'binary')"
        )
    }

    /// What each call of a function that enqueues has returned and stored, or its error, without a trace of the earlier calls. Their
    /// ids are the same each time.
    func outcomes(of calls: [String]) async throws -> [String] {
        try await run(Self.outcome)
        var outcomes: [String] = []
        for call in calls { outcomes.append(try await value("pg_temp.outcome($call$\(call)$call$)") ?? "") }
        return outcomes
    }

    /// Expects the same of both calls of each pair.
    func expectEqual(_ pairs: [(String, String)], _ name: String) async throws {
        let one = try await outcomes(of: pairs.map(\.0))
        let other = try await outcomes(of: pairs.map(\.1))
        for (pair, (first, second)) in zip(pairs, zip(one, other)) {
            #expect(first == second, "\(name): \(pair.0) and \(pair.1)")
        }
    }

    /// Expects the same of each call in a session that reads backslashes in strings as escapes. A function keeps the plan that it made
    /// first in a session.
    func expectEqualWithStringsOff(_ calls: [String], _ name: String) async throws {
        let usual = try await outcomes(of: calls)
        try await session { other in
            try await other.run("SET standard_conforming_strings = off; SET escape_string_warning = off")
            let outcomes = try await other.outcomes(of: calls)
            for (call, (outcome, usual)) in zip(calls, zip(outcomes, usual)) {
                #expect(outcome == usual, "\(name): \(call)")
            }
        }
    }

    private static let outcome = """
        CREATE OR REPLACE FUNCTION pg_temp.outcome(call text) RETURNS text LANGUAGE plpgsql AS $$
        DECLARE
            answer text;
            stored text;
            code text;
            said text;
            hint text;
            argument text;
        BEGIN
            PERFORM setval('carillon.messages_id_seq', 1000);
            EXECUTE 'SELECT carillon.' || call INTO answer;
            SELECT string_agg(j.content, ' ' ORDER BY j.id) INTO stored FROM (
                SELECT m.id, ROW(m.id, m.app_id, m.lane, m.tokens, m.payload, m.payloads, m.push_type, m.priority, m.expires_at,
                    m.collapse_id, m.topic, m.reference, m.on_unknown, m.broadcast_id)::text AS content
                FROM carillon.messages m
                UNION ALL
                SELECT s.id, ROW(s.id, s.app_id, s.lane, s.tokens, s.payload, s.payloads, s.push_type, s.priority, s.expires_at,
                    s.collapse_id, s.topic, s.reference, s.on_unknown, s.broadcast_id, s.run_at)::text
                FROM carillon.scheduled s) j;
            DELETE FROM carillon.messages;
            DELETE FROM carillon.scheduled;
            DELETE FROM carillon.split_messages;
            DELETE FROM carillon.dedupe;
            RETURN concat_ws(' ', coalesce(answer, 'null'), stored);
        EXCEPTION
            -- The message names the types of all arguments.
            WHEN undefined_function THEN
                RETURN 'no such function';
            WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, said = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT,
                    argument = COLUMN_NAME;
                RETURN concat_ws(' ', code, said, hint, argument);
        END
        $$
        """
}
