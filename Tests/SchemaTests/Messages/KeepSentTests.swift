import CarillonPostgres
import TestSupport
import Testing

/// Pushes that were accepted, of apps with `keep_sent`.
@Suite(.demo) struct KeepSentTests {
    private static let anna = "aaaa0000000000000000000000000001"
    private static let bob = "bbbb0000000000000000000000000001"
    private static let ids = ["a0000000-0000-8000-8000-000000000001", "b0000000-0000-8000-8000-000000000001"]

    /// An app that keeps sent pushes, and a claim of a job to two people that is in flight.
    private static let claim = """
        UPDATE carillon.apps SET keep_sent = '30 days';
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour');
        SELECT carillon.register_token('demo', '\(anna)', 'anna');
        INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs)
        VALUES (601, 1, 1, '2026-01-01Z', ARRAY[carillon.job(id => 601, lane => 1::smallint, tokens => '{\(anna),\(bob)}',
            payload => '{"aps":{}}', reference => 'order 7', created_at => now())]);
        """
    /// What a worker calls when both were accepted.
    private static let settle = TestDatabase.settle([
        "claim": "601", "claimed": "2026-01-01Z", "ended": "{601}", "ended_sent": "{2}", "ended_reference": "{order 7}",
        "ended_created": "{now}", "kept": "{601,601}", "kept_token": "{\(anna),\(bob)}",
        "kept_apns_id": "{\(ids[0]),\(ids[1])}",
    ])
    private static let kept = "SELECT s.app_id, s.message, s.token, s.apns_id FROM carillon.sent_pushes s"
    private static let both = #"(1,"{601,601}","{""\\\\x\#(anna)"",""\\\\x\#(bob)""}","{\#(ids[0]),\#(ids[1])}")"#

    /// Rows of `trace` about accepted pushes.
    private func sent(_ arguments: String) async throws -> [String] {
        try await database.rows(
            """
            SELECT t.what, t.message_id, t.token, t.details ->> 'apns_id' FROM carillon.trace('demo', \(arguments)) AS t
            WHERE t.event = 'sent' AND t.token IS NOT NULL ORDER BY t.token
            """
        )
    }

    private func line(_ token: String, _ id: String) -> String {
        "(\"accepted by Apple, with the apns-id \(id)\",601,\(token),\(id))"
    }

    @Test func `a settlement writes one row for all its pushes, and only if the worker passes any`() async throws {
        try await database.run(Self.claim + Self.settle)
        #expect(try await database.rows(Self.kept) == [Self.both])
        let without = Self.settle.replacing(#/kept(_\w+)? => '[^']*'/#) { "kept\($0.output.1 ?? "") => '{}'" }
        try await database.run("TRUNCATE carillon.sent_pushes; DELETE FROM carillon.workers; \(Self.claim) \(without)")
        #expect(try await database.rows(Self.kept) == [])
    }

    @Test func `a settlement that is rolled back or repeated keeps nothing more`() async throws {
        try await database.run(Self.claim)
        try await database.run("BEGIN; \(Self.settle); ROLLBACK")
        #expect(try await database.rows(Self.kept) == [])
        #expect(try await database.value(Self.settle) == "written")
        #expect(try await database.value(Self.settle) == "before")
        #expect(try await database.rows(Self.kept) == [Self.both])
    }

    @Test func `trace shows when pushes were accepted, by owner, token, reference and message`() async throws {
        try await database.run(Self.claim + Self.settle)
        let (anna, bob) = (line(Self.anna, Self.ids[0]), line(Self.bob, Self.ids[1]))
        #expect(try await sent("owner => 'anna'") == [anna])
        #expect(try await sent("token => '\(Self.bob.uppercased())'") == [bob])
        #expect(try await sent("message_id => 601") == [anna, bob])
        #expect(try await sent("reference => 'order 7'") == [anna, bob])
        #expect(try await sent("token => '\(Self.bob)', since => '1 hour'") == [bob])
        let limit = try await database.value(
            "SELECT t.what FROM carillon.trace('demo', owner => 'anna') AS t WHERE t.event = 'not known'"
        )
        #expect(limit?.contains("one that was accepted only for 30 days") == true, "\(limit ?? "")")
    }

    @Test func `a broadcast that is known to have reached a token is not listed as one that may have`() async throws {
        try await database.run(
            """
            \(Self.claim) \(Self.settle);
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens, created_at)
            VALUES (1, 600, 609, 1, 10, 10000, now() - interval '1 minute');
            UPDATE carillon.results SET broadcast_id = 600
            """
        )
        let events =
            "SELECT t.event FROM carillon.trace('demo', token => '\(Self.bob)') AS t WHERE t.event = 'many tokens'"
        #expect(try await database.rows(events) == [])
        #expect(try await sent("message_id => 600") == [line(Self.anna, Self.ids[0]), line(Self.bob, Self.ids[1])])
        try await database.run("TRUNCATE carillon.sent_pushes")
        #expect(try await database.rows(events) == ["(\"many tokens\")"])
    }

    @Test func `nothing is shown that is older than the setting, even before maintenance has run`() async throws {
        try await database.run(Self.claim + Self.settle)
        try await database.run("UPDATE carillon.apps SET keep_sent = NULL")
        #expect(try await sent("owner => 'anna'") == [])
        #expect(try await sent("message_id => 601") == [])
        try await database.run(
            "UPDATE carillon.apps SET keep_sent = '1 hour'; UPDATE carillon.sent_pushes SET sent_at = now() - interval '61 min'"
        )
        #expect(try await sent("owner => 'anna'") == [])
    }

    @Test func `each app has its own time, and a day that no app keeps is dropped whole`() async throws {
        try await database.run(
            """
            UPDATE carillon.apps SET keep_sent = '10 days';
            INSERT INTO carillon.apps (id, name, topic, keep_sent) VALUES (2, 'short', 'a.b', '1 day'), (3, 'none', 'a.c', NULL);
            CREATE TABLE carillon.sent_pushes_20200101 PARTITION OF carillon.sent_pushes
            FOR VALUES FROM ('2020-01-01Z') TO ('2020-01-02Z');
            INSERT INTO carillon.sent_pushes (app_id, sent_at, message, token, apns_id)
            SELECT a, t, '{1}', '{aa}', '{NULL}' FROM unnest('{1,2,3,4}'::int[]) a,
                unnest(ARRAY[now(), now() - interval '2 days', now() - interval '11 days', '2020-01-01 12:00Z']) t
            """
        )
        try await database.run("CALL carillon.maintain()")
        #expect(try await database.rows("SELECT target FROM carillon.maintenance WHERE last_failure IS NOT NULL") == [])
        #expect(
            try await database.rows(
                "SELECT s.app_id, date_part('day', now() - s.sent_at) FROM carillon.sent_pushes s ORDER BY 1, 2"
            ) == ["(1,0)", "(1,2)", "(2,0)"]
        )
        #expect(try await database.value("to_regclass('carillon.sent_pushes_20200101')") == nil)
    }

    @Test func `of a person who was forgotten in flight, nothing is kept`() async throws {
        try await database.run("\(Self.claim) SELECT carillon.forget('demo', 'anna')")
        try await database.run(Self.settle)
        #expect(
            try await database.rows(Self.kept) == [#"(1,{601},"{""\\\\x\#(Self.bob)""}",{\#(Self.ids[1])})"#]
        )
    }

    @Test func `an app keeps pushes for an hour at least and ten years at most`() async throws {
        for bad in ["59 min", "10 years 1 day", "-1 day"] {
            let error = await database.refusal(of: "UPDATE carillon.apps SET keep_sent = '\(bad)'")
            #expect(error?.constraint == "apps_keep_sent_is_1_hour_to_10_years")
        }
    }
}
