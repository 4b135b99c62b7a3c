import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// Rows with a payload for each token: enqueue checks and stores them, and whatever happens to a row, no token gets the payload
/// of another.
@Suite(.demo) struct PersonalPayloadTests {
    private static let queue = "SELECT tokens, payload, payloads, push_type FROM carillon.messages ORDER BY id"

    /// How many jobs with payloads of their own there are, and in how many places a token has not its own: each payload names
    /// the token that it is for.
    private static let misplaced = """
        SELECT (SELECT count(DISTINCT q.id) FROM q), count(*) FILTER (WHERE t.payload ->> 't' IS DISTINCT FROM t.token)
        FROM q, unnest(q.tokens, q.payloads) AS t(token, payload)
        """

    private static func jobs(in table: String) -> String {
        "WITH q AS (SELECT id, tokens, payloads FROM carillon.\(table) WHERE payload IS NULL) \(misplaced)"
    }

    private static let inFlight = """
        WITH q AS (SELECT j.id, j.tokens, j.payloads FROM carillon.inflight i, unnest(i.jobs) j WHERE j.payload IS NULL)
        \(misplaced)
        """

    /// An INSERT of one row, whose payloads name their tokens.
    private static func insert(_ tokens: Int) -> String {
        """
        INSERT INTO carillon.messages (app_id, tokens, payloads)
        SELECT 1, array_agg(lpad(i::text, 4, '0')), array_agg(json_build_object('t', lpad(i::text, 4, '0'), 'aps', '{}'::json))
        FROM generate_series(1, \(tokens)) i
        """
    }

    // MARK: Enqueueing

    @Test(arguments: [
        "ARRAY['{\"n\": 1}', '{\"n\": 2}']", "ARRAY['{\"n\": 1}', '{\"n\": 2}']::json[]",
        "ARRAY['{\"n\": 1}', '{\"n\": 2}']::varchar[]", #"'{"{\"n\": 1}","{\"n\": 2}"}'"#,
    ])
    func `enqueue keeps each payload byte for byte`(payloads: String) async throws {
        try await database.run("SELECT carillon.enqueue('demo', '{AA,bb}', payloads => \(payloads))")
        #expect(
            try await database.rows(Self.queue) == [#"("{aa,bb}",,"{""{\\""n\\"": 1}"",""{\\""n\\"": 2}""}",alert)"#]
        )
    }

    @Test func `payloads as jsonb are stored without blanks, and one of them is that of its row`() async throws {
        try await database.run(
            #"SELECT carillon.enqueue('demo', '{aa}', payloads => ARRAY['{"n": 1, "a": "b: c"}'::jsonb])"#
        )
        #expect(try await database.rows(Self.queue) == [#"({aa},"{""a"":""b: c"",""n"":1}",,alert)"#])
    }

    @Test func `of a token that is listed twice the first payload counts`() async throws {
        try await database.run(
            #"SELECT carillon.enqueue('demo', '{aa,bb,AA}', payloads => ARRAY['{"n":1}','{"n":2}','{"n":3}'])"#
        )
        #expect(
            try await database.rows(Self.queue) == [#"("{aa,bb}",,"{""{\\""n\\"":1}"",""{\\""n\\"":2}""}",alert)"#]
        )
    }

    @Test func `a long list is cut with its payloads, and may be scheduled`() async throws {
        for time in ["NULL", "now() + interval '1 hour'"] {
            try await database.run(
                """
                SELECT carillon.enqueue('demo', array_agg(lpad(i::text, 4, '0')), run_at => \(time),
                    payloads => array_agg(json_build_object('t', lpad(i::text, 4, '0')))) FROM generate_series(1, 2500) i
                """
            )
        }
        #expect(try await database.rows(Self.jobs(in: "messages")) == ["(3,0)"])
        #expect(try await database.rows(Self.jobs(in: "scheduled")) == ["(3,0)"])
        #expect(try await database.value("SELECT sum(cardinality(tokens)) FROM carillon.messages") == "2500")
    }

    @Test func `payloads without alert, badge and sound are sent in the background if all are such`() async throws {
        let silent = #"{"aps":{"content-available":1}}"#
        for second in [silent, #"{"aps":{"alert":"x"}}"#] {
            try await database.run(
                "SELECT carillon.enqueue('demo', '{aa,bb}', payloads => ARRAY['\(silent)', '\(second)'])"
            )
        }
        #expect(
            try await database.rows("SELECT push_type, priority FROM carillon.messages ORDER BY id") == [
                "(background,5)", "(alert,)",
            ]
        )
    }

    @Test(arguments: [
        ("'{aa,bb}', payloads => '{\"{}\"}'", "one payload for each of the 2 tokens, got 1", "22023"),
        ("'{aa,bb}', payloads => '{\"{}\",NULL}'", "a payload for each token, got null at position 2", "22023"),
        ("'{aa,bb}', payloads => '{\"{}\",\"[1]\"}'", "JSON objects, got [1] at position 2", "22023"),
        ("'{aa,bb}', payloads => '{\"{}\",\"x\"}'", "JSON objects, got x at position 2", "22P02"),
        ("'{aa,bb}', payloads => '{{\"{}\",\"{}\"}}'", "an array of payloads, got an array of arrays", "22023"),
        (
            "'{aa,bb}', payloads => ARRAY['{}', '{\"a\":\"' || repeat('x', 4089) || '\"}']",
            "payloads of at most 4096 bytes for push type alert, got one of 4097 bytes at position 2", "54000"
        ),
        ("'{aa}', payloads => '{\"{}\"}', alert => 'x'", "null if payload, alert, ", "22023"),
        ("'{aa}', payloads => '{\"{}\"}', payload => '{}'", "null if payload, alert, ", "22023"),
        ("'{aa}', payloads => '{\"{}\"}', badge_add => 1", "null if payload, alert, ", "22023"),
    ])
    func `an error names the argument and the place`(call: String, takes: String, state: String) async throws {
        let error = await database.refusal(of: "SELECT carillon.enqueue('demo', \(call))")
        #expect(error?.message.hasPrefix("argument \"payloads\" takes \(takes)") == true, "\(error?.message ?? "")")
        #expect(error?.sqlState == state)
    }

    @Test func `without tokens there is nothing to send`() async throws {
        #expect(try await database.value("carillon.enqueue('demo', '{}', payloads => '{}'::json[])") == nil)
    }

    // MARK: In the queue

    @Test func `a row keeps its payloads while it is claimed, given back, put off and taken over`() async throws {
        try await database.run(Self.insert(5))
        let worker = try await database.addWorker()
        #expect(try await database.claim(by: worker).count == 1)
        #expect(try await database.rows(Self.inFlight) == ["(1,0)"])
        try await database.run("SELECT carillon.release(\(worker), array_agg(id)) FROM carillon.inflight")
        #expect(try await database.rows(Self.jobs(in: "messages")) == ["(1,0)"])
        _ = try await database.claim(by: worker)
        try await database.bury(worker)
        #expect(try await database.rows(Self.jobs(in: "messages")) == ["(1,0)"])
    }

    @Test func `quarantine gives each token a row with its payload`() async throws {
        try await database.run(Self.insert(5))
        for _ in 0..<3 {
            let worker = try await database.addWorker()
            _ = try await database.claim(by: worker)
            try await database.bury(worker)
        }
        #expect(try await database.rows(Self.jobs(in: "messages")) == ["(5,0)"])
    }

    @Test func `a row with too many tokens is split with its payloads`() async throws {
        try await database.run(Self.insert(25) + "; SELECT carillon.split(1, 1::smallint, 1, 10)")
        #expect(try await database.rows(Self.jobs(in: "messages")) == ["(3,0)"])
    }

    @Test func `splitting cuts a payload that is far too long, so that the claim stays small`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payloads)
            VALUES (1, '{aa,bb,AA}', ARRAY[to_json(repeat('y', 20000000)), '{"t":"bb"}', '{"t":"aa"}'])
            """
        )
        let worker = try await database.addWorker()
        #expect(try await database.claim(by: worker).isEmpty)
        try await database.run("SELECT carillon.split(1, 1::smallint, 1, 10)")
        #expect(try await database.claim(by: worker).map(\.tokens) == [["AA", "bb"]])
        #expect(
            try await database.rows(
                "SELECT length(j.payloads[1]::text), j.payloads[2] FROM carillon.inflight i, unnest(i.jobs) j"
            ) == [#"(8194,"{""t"":""bb""}")"#]
        )
    }

    @Test func `a row whose payloads are not as many as its tokens has none after a split`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payloads)
            VALUES (1, '{aa,bb,cc}', ARRAY['{"t":"aa"}', '{"t":"bb"}']::json[]);
            SELECT carillon.split(1, 1::smallint, 1, 2)
            """
        )
        #expect(
            try await database.rows("SELECT tokens, payloads FROM carillon.messages ORDER BY id") == [
                #"("{aa,bb}",{})"#, "({cc},{})",
            ]
        )
    }

    @Test func `failures of one message that are kept by several calls are requeued together`() async throws {
        func keep(_ tokens: String) -> String {
            """
            SELECT carillon.keep_failed_content(1, ARRAY[carillon.job(id => 7, lane => 1::smallint, tokens => '{\(tokens)}',
                payload => NULL, payloads => (
                    SELECT array_agg(json_build_object('t', lower(t))) FROM unnest('{\(tokens)}'::text[]) t),
                created_at => now())])
            """
        }
        try await database.run(
            """
            BEGIN; \(keep("aa,BB")); \(keep("cc")); COMMIT; \(keep("dd"));
            INSERT INTO carillon.failures (message_id, app_id, token, status, reason)
            SELECT 7, 1, t, 400, 'BadTopic' FROM unnest('{aa,bb,cc,dd,ee}'::text[]) t
            """
        )
        #expect(try await database.value("carillon.requeue_failures('demo')") == "4")
        #expect(try await database.rows(Self.jobs(in: "messages")) == ["(1,0)"])
        #expect(try await database.value("SELECT tokens FROM carillon.messages") == "{aa,bb,cc,dd}")
    }
}
