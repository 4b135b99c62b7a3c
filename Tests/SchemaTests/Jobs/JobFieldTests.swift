import TestSupport
import Testing

@testable import CarillonPushQueue

/// Workers of a release run beside a schema that a later one has migrated.
@Suite struct JobFieldTests {
    /// What a migration does that adds a field: the type and its constructor change together.
    private static let migration = """
        ALTER TYPE carillon.job ADD ATTRIBUTE wanted_by text;
        DO $$
        DECLARE
            made CONSTANT text := pg_get_functiondef('carillon.job'::regproc);
        BEGIN
            DROP FUNCTION carillon.job;
            EXECUTE replace(replace(made, 'last_reason text DEFAULT NULL::text)',
                'last_reason text DEFAULT NULL::text, wanted_by text DEFAULT NULL::text)'),
                'last_status, last_reason)::', 'last_status, last_reason, wanted_by)::');
        END
        $$
        """

    @Test func `a released worker goes on claiming when a migration adds a field to the jobs`() async throws {
        try await TestDatabase.withDemo { database in
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
    }

    @Test func `a job that changes keeps every field that is not named`() async throws {
        try await TestDatabase.withDemo { database in
            let differences = try await database.rows(
                """
                WITH made AS (SELECT carillon.job(id => 1, lane => 2::smallint, tokens => '{aa}', payload => '{"a":1}',
                    payloads => ARRAY['{}']::json[], push_type => 'voip', priority => 5::smallint, expires_at => 'epoch',
                    collapse_id => 'c', topic => 't', reference => 'r', on_unknown => 'fail', attempt => 3::smallint,
                    lost_claims => 4::smallint, origin => 5, broadcast_id => 6, created_at => 'epoch',
                    last_status => 7::smallint, last_reason => 'why') AS job)
                SELECT carillon.changed(m.job)::text = m.job::text,
                    carillon.changed(m.job, id => 9, tokens => '{bb}', payloads => ARRAY['[]']::json[],
                        attempt => 8::smallint, lost_claims => 0::smallint, origin => 10, last_reason => 'new')
                FROM made m
                """
            )
            #expect(
                differences == [
                    #"(t,"(9,2,{bb},""{""""a"""":1}"",{[]},voip,5,""1970-01-01 00:00:00+00"",c,t,r,fail,8,0,10,6,"#
                        + #"""1970-01-01 00:00:00+00"",,new)")"#
                ]
            )
        }
    }
}
