import TestSupport
import Testing

@testable import CarillonPushQueue

/// Jobs keep all their fields, whatever happens to them, and workers go on when a later release adds one.
@Suite(.demo) struct JobFieldTests {
    /// What a migration does that adds a field: the type and its constructor change together.
    private static let migration = """
        ALTER TYPE carillon.job ADD ATTRIBUTE wanted_by text;
        DO $$
        DECLARE
            made CONSTANT text := pg_get_functiondef('carillon.job'::regproc);
        BEGIN
            DROP FUNCTION carillon.job;
            EXECUTE replace(replace(made, E')\\n RETURNS', E', wanted_by text DEFAULT NULL::text)\\n RETURNS'),
                ')::', ', wanted_by)::');
        END
        $$
        """

    @Test func `a released worker continues to claim when a migration adds a field to the jobs`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload) VALUES
                (1, '{aa}', '{"aps":{}}'), (1, '{bb,cc}', '{"aps":{}}')
            """
        )
        let worker = try await database.addWorker()
        let before = try await database.claim(by: worker, rows: 1)
        #expect(before.map(\.tokens) == [["aa"]])
        try await database.run(Self.migration)
        let after = try await database.claim(by: worker, rows: 1)
        #expect(after.map(\.tokens) == [["bb", "cc"]])
        // Another worker takes over what was claimed before and after: each job is made again.
        try await database.bury(worker)
        let queued = try await database.rows("SELECT id, tokens, lost_claims FROM carillon.messages ORDER BY id")
        #expect(queued == ["(1,{aa},1)", #"(2,"{bb,cc}",1)"#])
    }

    /// A message in which each field of a job has a value of its own, with one payload or a payload for each token. A field that is
    /// added later gets a value by its type.
    private static func message(hasPayloads: Bool) -> String {
        let (payload, payloads) = hasPayloads ? ("NULL", #"''{"1","2"}''"#) : (#"''{"aps":{}}''"#, "NULL")
        return """
            DO $$
            DECLARE
                fields text;
                texts text;
            BEGIN
                SELECT string_agg(a.attname, ', '), string_agg(CASE a.attname
                    WHEN 'id' THEN '7' WHEN 'lane' THEN '1' WHEN 'tokens' THEN '''{aa,bb}''' WHEN 'priority' THEN '5'
                    WHEN 'push_type' THEN '''alert''' WHEN 'on_unknown' THEN '''fail'''
                    WHEN 'payload' THEN '\(payload)' WHEN 'payloads' THEN '\(payloads)'
                    ELSE CASE format_type(a.atttypid, NULL)
                        WHEN 'text' THEN quote_literal(a.attname) WHEN 'bigint' THEN '70' WHEN 'smallint' THEN '3'
                        WHEN 'timestamp with time zone' THEN '''2100-01-01''' END END, ', ')
                INTO fields, texts FROM pg_attribute a WHERE a.attrelid = 'carillon.job'::regclass;
                EXECUTE format('INSERT INTO carillon.messages (app_id, %s) OVERRIDING SYSTEM VALUE VALUES (1, %s)',
                    fields, texts);
            END
            $$
            """
    }

    /// The fields of the job that is the only row of a query, but for those that the way changes.
    private static func fields(of job: String, but changed: [String]) -> String {
        """
        SELECT jsonb_object_agg(f.key, f.value)
        FROM (\(job)) AS q(job), jsonb_each_text(to_jsonb(q.job)) AS f
        WHERE f.key IN (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = 'carillon.job'::regclass)
            AND f.key <> ALL ('{\(changed.joined(separator: ","))}')
        """
    }

    @Test(arguments: [false, true])
    func `each field of a job survives a claim, a release, a wait, a takeover and a split`(hasPayloads: Bool)
        async throws
    {
        try await database.run(Self.message(hasPayloads: hasPayloads))
        try await database.run("CREATE TABLE first AS SELECT carillon.ready_job(m) AS job FROM carillon.messages m")
        let nulls =
            "SELECT string_agg(f.key, ',') FROM first, jsonb_each_text(to_jsonb(first.job)) f WHERE f.value IS NULL"
        let missing = try await database.value(nulls)
        #expect(missing == (hasPayloads ? "payload" : "payloads"), "each has a value, or this proves nothing")
        func expect(_ job: String, but changed: [String] = [], after way: String) async throws {
            let first = try await database.value(Self.fields(of: "SELECT job FROM first", but: changed))
            let now = try await database.value(Self.fields(of: job, but: changed))
            #expect(now == first, "\(way)")
        }
        let ready = "SELECT m FROM carillon.messages m"

        let worker = try await database.addWorker()
        _ = try await database.claim(by: worker)
        try await expect("SELECT f.jobs[1] FROM carillon.inflight f", after: "a claim")
        try await database.run("SELECT carillon.release(\(worker), array_agg(f.id)) FROM carillon.inflight f")
        try await expect(ready, after: "a release")

        try await database.run(
            """
            WITH gone AS (DELETE FROM carillon.messages m RETURNING carillon.ready_job(m) AS job)
            SELECT carillon.return_jobs(1, array_agg(g.job), ARRAY[0]) FROM gone g
            """
        )
        try await expect("SELECT s FROM carillon.scheduled s", after: "a return")
        try await database.run("SELECT carillon.promote(1000, '-infinity', 0)")
        try await expect(ready, after: "a promotion")

        // With 'fail', a takeover ends the pushes, whose outcome is unknown; and the third death
        // would make a job of each token.
        try await database.run("UPDATE carillon.messages SET on_unknown = 'retry', lost_claims = 0")
        _ = try await database.claim(by: worker)
        try await database.bury(worker)
        try await expect(ready, but: ["lost_claims", "on_unknown"], after: "a takeover")

        try await database.run("SELECT carillon.split(1, 1::smallint, 7, 1)")
        for token in ["aa", "bb"] {
            let job = "SELECT m FROM carillon.messages m WHERE m.tokens = '{\(token)}'"
            try await expect(job, but: ["id", "tokens", "payloads", "lost_claims", "on_unknown"], after: "a split")
        }
    }

    @Test func `a job that changes keeps every field that is not named`() async throws {
        let differences = try await database.rows(
            """
            WITH made AS (SELECT carillon.job(id => 1, lane => 2::smallint, tokens => '{aa}', payload => '{"a":1}',
                payloads => ARRAY['{}']::json[], push_type => 'voip', priority => 5::smallint, expires_at => 'epoch',
                collapse_id => 'c', topic => 't', reference => 'r', on_unknown => 'fail', attempt => 3::smallint,
                lost_claims => 4::smallint, origin => 5, broadcast_id => 6, created_at => 'epoch',
                last_status => 7::smallint, last_reason => 'why', unknown_attempts => 2::smallint) AS job)
            SELECT carillon.changed_job(m.job)::text = m.job::text,
                carillon.changed_job(m.job, id => 9, tokens => '{bb}', payloads => ARRAY['[]']::json[],
                    attempt => 8::smallint, lost_claims => 0::smallint, origin => 10, last_reason => 'new',
                    unknown_attempts => 3::smallint)
            FROM made m
            """
        )
        #expect(
            differences == [
                #"(t,"(9,2,{bb},""{""""a"""":1}"",{[]},voip,5,""1970-01-01 00:00:00+00"",c,t,r,fail,8,0,3,10,6,"#
                    + #"""1970-01-01 00:00:00+00"",,new)")"#
            ]
        )
    }
}
