import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// The events of each way in which pushes, messages and apps change.
@Suite(.demo) struct EventTests {
    /// How often a listener was called.
    private final class Calls: Sendable {
        private let count = Guarded(0)

        var number: Int { count.withLock { $0 } }

        func add() { count.withLock { $0 += 1 } }
    }

    private static let setUp = """
        SELECT carillon.subscribe('demo', 'follower');
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour')
        """
    private static let take = """
        SELECT e.kind, e.message_id, e.broadcast_id, e.reference, e.token, e.status, e.reason, e.sent, e.failed, e.expired,
            e.cancelled
        FROM carillon.take_events('follower') AS e
        """

    private static let waiting = "SELECT consumer, events FROM carillon.consumers ORDER BY 1"

    private static func job(_ id: Int, _ tokens: String, origin: Int? = nil, broadcast: Int? = nil) -> String {
        let origin = origin.map { "\($0)" } ?? "NULL"
        let broadcast = broadcast.map { "\($0)" } ?? "NULL"
        return """
            carillon.job(id => \(id), lane => 1::smallint, tokens => '\(tokens)', payload => '{}', reference => 'r\(id)',
                origin => \(origin), broadcast_id => \(broadcast), created_at => now())
            """
    }

    private static func claim(_ jobs: String...) -> String {
        """
        INSERT INTO carillon.inflight (id, worker_id, app_id, claimed_at, jobs)
        VALUES (5, 1, 1, '2026-01-01Z', ARRAY[\(jobs.joined(separator: ", "))])
        """
    }

    private static func settle(_ arguments: [String: String]) -> String {
        TestDatabase.settle(["claim": "5", "claimed": "2026-01-01Z"].merging(arguments) { $1 })
    }

    /// What happens, and the events of it.
    struct Way: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let statements: [String]
        let events: [String]
    }

    private static let ways: [Way] = [
        Way(
            testDescription: "all pushes of a claim are sent",
            statements: [
                claim(job(100, "{AA}"), job(101, "{bb}")),
                settle(["ended": "{100,101}", "ended_reference": "{r100,r101}"]),
            ],
            events: [
                "(sent,100,,r100,aa,,,,,,)", "(sent,101,,r101,bb,,,,,,)", "(finished,100,,r100,,,,1,0,0,0)",
                "(finished,101,,r101,,,,1,0,0,0)",
            ]
        ),
        Way(
            testDescription: "a token counts once, in upper and lower case",
            statements: [claim(job(100, "{aa,AA}")), settle(["ended": "{100}", "ended_reference": "{r100}"])],
            events: ["(sent,100,,r100,aa,,,,,,)", "(finished,100,,r100,,,,1,0,0,0)"]
        ),
        Way(
            testDescription: "each push of a job ends in another way, or not yet",
            statements: [
                claim(job(100, "{a1,a2,a3,a4,a5}"), job(101, "{b1}"), job(102, "{c1}")),
                settle([
                    "ended": "{100,101}", "ended_reference": "{r100,r101}", "ended_remaining": "{2,NULL}",
                    "ended_sent": "{1,0}", "ended_failed": "{1,0}", "ended_expired": "{1,1}",
                    "failed": "{100}", "failed_token": "{a2}", "failed_status": "{410}",
                    "failed_reason": "{Unregistered}",
                    "failed_unregistered_at": "{2026-01-01Z}", "failed_apns_id": "{NULL}", "failed_attempt": "{1}",
                    "going_back": "{100,102}", "going_back_whole": "{f,t}", "going_back_attempt": "{2,2}",
                    "going_back_after": "{1000,1000}", "going_back_place": "{1}", "going_back_token": "{a3}",
                    "staying": "{100}", "staying_whole": "{f}", "staying_place": "{1}", "staying_token": "{a4}",
                    "expired": "{100}", "expired_token": "{a5}",
                ]),
            ],
            events: [
                "(sent,100,,r100,a1,,,,,,)", "(failed,100,,r100,a2,410,Unregistered,,,,)",
                "(expired,100,,r100,a5,,,,,,)", "(expired,101,,r101,b1,,,,,,)", "(token_dead,100,,r100,a2,,,,,,)",
                "(finished,101,,r101,,,,0,0,1,0)",
            ]
        ),
        Way(
            testDescription: "the last push of a message is sent in a retry",
            statements: [
                """
                INSERT INTO carillon.unfinished (message_id, app_id, remaining, sent, failed, reference)
                VALUES (90, 1, 1, 4, 2, 'r90')
                """,
                claim(job(100, "{aa}", origin: 90)),
                settle(["ended": "{90}", "ended_reference": "{r90}", "ended_remaining": "{0}"]),
            ],
            events: ["(sent,90,,r90,aa,,,,,,)", "(finished,90,,r90,,,,5,2,0,0)"]
        ),
        Way(
            testDescription: "jobs fail",
            statements: ["SELECT carillon.fail_jobs(1, ARRAY[\(job(100, "{aa}")), \(job(101, "{bb}"))], 'Poison')"],
            events: [
                "(failed,100,,r100,aa,,Poison,,,,)", "(failed,101,,r101,bb,,Poison,,,,)",
                "(finished,100,,r100,,,,0,1,0,0)",
                "(finished,101,,r101,,,,0,1,0,0)",
            ]
        ),
        Way(
            testDescription: "PostgreSQL refuses to record a job",
            statements: [
                claim(job(100, "{aa,bb,cc}")),
                """
                SELECT carillon.settle_unrecorded(1, 5, 1, '2026-01-01Z', 0::smallint, 100, 1, '{aa,bb}', '{200,400}',
                    '{NULL,NULL}')
                """,
            ],
            events: [
                "(sent,100,,r100,aa,,,,,,)", "(failed,100,,r100,bb,400,Unrecorded,,,,)", "(expired,100,,r100,cc,,,,,,)",
                "(finished,100,,r100,,,,1,1,1,0)",
            ]
        ),
        Way(
            testDescription: "a message cannot be read",
            statements: [
                "INSERT INTO carillon.messages (id, app_id, tokens, payload, reference) VALUES (100, 1, '{aa}', '{}', 'r')",
                "SELECT carillon.discard_unreadable(1, 1::smallint, 100)",
            ],
            events: ["(failed,100,,r,,,Unreadable,,,,)", "(finished,100,,r,,,,0,1,0,0)"]
        ),
        Way(
            testDescription: "a newer push replaces one",
            statements: [
                claim(job(100, "{aa}"), job(101, "{bb}")),
                """
                SELECT carillon.withdraw(1, 5, (SELECT f.jobs FROM carillon.inflight f), '{100}', '{aa}')
                """,
            ],
            events: ["(superseded,100,,r100,aa,,,,,,)", "(finished,100,,r100,,,,0,0,0,1)"]
        ),
        Way(
            testDescription: "a message is cancelled",
            statements: [
                "INSERT INTO carillon.messages (id, app_id, tokens, payload, reference) VALUES (100, 1, '{aa}', '{}', 'r')",
                "SELECT carillon.cancel(100)",
            ],
            events: ["(finished,100,,r,,,,0,0,0,1)"]
        ),
        Way(
            testDescription: "the legacy feedback service lists a token",
            statements: ["SELECT carillon.keep_feedback('{1}', '{AA}', '{0}')"],
            events: ["(token_dead,,,,aa,,,,,,)"]
        ),
        Way(
            testDescription: "the app is paused, held, and resumed",
            statements: [
                "UPDATE carillon.apps SET paused = true, paused_reason = 'a sale'",
                "UPDATE carillon.apps SET max_rate = 5",
                "UPDATE carillon.apps SET paused = false",
                "INSERT INTO carillon.holds (app_id, kind, reason) VALUES (1, 'connection', 'no route')",
                "UPDATE carillon.holds SET seen_at = now()", "DELETE FROM carillon.holds",
            ],
            events: [
                #"(app_held,,,,,,"paused: a sale",,,,)"#, #"(app_resumed,,,,,,"paused: a sale",,,,)"#,
                #"(app_held,,,,,,"no route",,,,)"#, #"(app_resumed,,,,,,"no route",,,,)"#,
            ]
        ),
        Way(
            testDescription: "the credential is about to expire, and expires",
            statements: [
                "UPDATE carillon.certificates SET status = 'ok', not_after = '2026-02-03 04:05Z'",
                "UPDATE carillon.certificates SET status = 'expiring'",
                "UPDATE carillon.certificates SET status = 'expiring'",
                "UPDATE carillon.certificates SET status = 'expired'",
            ],
            events: [
                #"(credential_ending,,,,,,"credential main expires 2026-02-03 04:05 UTC",,,,)"#,
                #"(credential_ending,,,,,,"credential main expired 2026-02-03 04:05 UTC",,,,)"#,
            ]
        ),
    ]

    @Test(arguments: ways)
    func `what happens has its events, pushes before the end of their message`(_ way: Way) async throws {
        try await database.run(Self.setUp)
        for statement in way.statements { try await database.run(statement) }
        #expect(try await database.rows(Self.take) == way.events)
    }

    @Test(arguments: ways) func `for an app without a consumer nothing is written`(_ way: Way) async throws {
        try await database.run("\(Self.setUp); SELECT carillon.unsubscribe('demo', 'follower')")
        for statement in way.statements { try await database.run(statement) }
        #expect(try await database.number("SELECT count(*) FROM carillon.events") == 0)
        #expect(try await database.number("SELECT count(*) FROM carillon.untaken_events") == 0)
    }

    @Test func `pushes have events even if PostgreSQL refuses to record the end of their message`() async throws {
        try await database.run(
            """
            \(Self.setUp); \(Self.claim(Self.job(100, "{aa,bb,cc}")));
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION public.refuse();
            """
        )
        // The push without a token was forgotten.
        try await database.run(
            """
            SELECT carillon.settle_unrecorded(1, 5, 1, '2026-01-01Z', 0::smallint, 100, 0, '{aa,bb,NULL}', '{200,400,200}',
                '{NULL,NULL,NULL}')
            """
        )
        let events = ["(sent,100,,r100,aa,,,,,,)", "(failed,100,,r100,bb,400,Unrecorded,,,,)"]
        #expect(try await database.rows(Self.take) == events)
    }

    @Test func `whoever may update apps may pause them, with a consumer and without`() async throws {
        let role = "updater_\(database.connection.backendProcessID)"
        try await database.run(
            """
            CREATE ROLE \(role); GRANT USAGE ON SCHEMA carillon TO \(role); GRANT SELECT, UPDATE ON carillon.apps TO \(role)
            """
        )
        for preparing in ["SELECT 1", Self.setUp] {
            try await database.run("\(preparing); SET ROLE \(role); UPDATE carillon.apps SET paused = true")
            try await database.run("RESET ROLE; UPDATE carillon.apps SET paused = false")
        }
        #expect(try await database.rows("SELECT e.kind FROM (\(Self.take)) AS e") == ["(app_held)", "(app_resumed)"])
        try await database.run("DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test func `a settlement is one row, and one more for each consumer that follows any of it`() async throws {
        try await database.run(
            """
            \(Self.setUp); SELECT carillon.subscribe('demo', 'ends', '{finished}'), carillon.subscribe('demo', 'dead', '{token_dead}');
            \(Self.claim(Self.job(100, "{aa}"), Self.job(101, "{bb}")));
            \(Self.settle(["ended": "{100,101}"]))
            """
        )
        #expect(try await database.number("SELECT count(*) FROM carillon.events") == 1)
        #expect(try await database.rows(Self.waiting) == ["(dead,0)", "(ends,2)", "(follower,4)"])
        #expect(try await database.number("SELECT count(*) FROM carillon.untaken_events") == 2)
    }

    @Test func `the end of a split message waits for all its jobs, whichever ends last`() async throws {
        try await database.run(
            """
            \(Self.setUp); SELECT carillon.subscribe('demo', 'ends', '{broadcast_finished}');
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens, reference)
            VALUES (1, 100, 101, 1, 2, 3, 'r');
            INSERT INTO carillon.messages (id, app_id, tokens, payload, broadcast_id) SELECT 100, 1, '{aa}', '{}', 100
            """
        )
        try await database.run(Self.claim(Self.job(101, "{bb,cc}", broadcast: 100)))
        try await database.run(
            Self.settle([
                "ended": "{101}", "ended_sent": "{2}", "ended_broadcast": "{100}", "ended_reference": "{r}",
            ])
        )
        let ends = "SELECT kind, message_id, reference, sent, cancelled FROM carillon.take_events('ends')"
        #expect(try await database.rows(ends) == [])
        #expect(
            try await database.rows(Self.take) == ["(sent,101,100,r,bb,,,,,,)", "(sent,101,100,r,cc,,,,,,)"]
        )
        #expect(try await database.rows(Self.waiting) == ["(ends,0)", "(follower,0)"])
        #expect(try await database.value("carillon.cancel(100)") == "1")
        #expect(try await database.rows(Self.waiting) == ["(ends,1)", "(follower,1)"])
        // It has the same id for each consumer.
        #expect(try await database.number("SELECT count(DISTINCT u.event_id) FROM carillon.untaken_events u") == 1)
        #expect(try await database.rows(ends) == ["(broadcast_finished,100,r,2,1)"])
        #expect(try await database.rows(Self.take) == ["(broadcast_finished,100,100,r,,,,2,0,0,1)"])
        #expect(try await database.rows(ends) == [])
    }

    @Test func `a worker's transaction notifies consumers, and an application's does not`() async throws {
        try await database.run(
            """
            \(Self.setUp); \(Self.claim(Self.job(100, "{aa}")));
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (101, 1, '{aa}', '{}')
            """
        )
        let calls = Calls()
        try await database.connection.listen(to: "carillon_events") { calls.add() }
        // A session hears what it has committed itself before its next answer.
        try await database.run("SELECT carillon.cancel(101)")
        try await database.run("SELECT carillon.pause_app('demo')")
        #expect(try await database.number("SELECT sum(events) FROM carillon.consumers") == 2)
        #expect(calls.number == 0)
        try await database.run(Self.settle(["ended": "{100}"]))
        try await TestLoop.shared.eventually("the consumer hears") { calls.number == 1 }
    }
}
