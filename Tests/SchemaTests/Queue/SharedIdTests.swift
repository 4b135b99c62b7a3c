import CarillonPostgres
import TestSupport
import Testing

/// Two apps whose messages have the same ids, as after a restore or after the sequence was set back. Their rows are
/// never confused.
@Suite(.demo) struct SharedIdTests {
    private static let apps = "INSERT INTO carillon.apps (name, topic) VALUES ('other', 'com.example.other');"

    private static func held(_ id: Int, _ tokens: String, broadcast: String = "NULL") -> String {
        """
        carillon.job(id => \(id), lane => 1::smallint, tokens => '\(tokens)', payload => '{}', broadcast_id => \(broadcast),
            created_at => now())
        """
    }

    /// Message 7 of each app is in flight, with two tokens.
    private static let inFlight = """
        \(apps)
        INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 hour');
        INSERT INTO carillon.inflight (worker_id, app_id, jobs) VALUES
            (1, 1, ARRAY[\(held(7, "{aa,bb}"))]), (1, 2, ARRAY[\(held(7, "{cc,dd,ee}"))]);
        """

    @Test func `messages of one id in two apps have their own progress and results`() async throws {
        try await database.run(Self.inFlight)
        for (app, left, sent) in [(1, 1, 1), (2, 1, 2), (1, 0, 1), (2, 0, 1)] {
            try await database.run(
                """
                SELECT carillon.end_messages(\(app), ARRAY[carillon.ending(message_id => 7, reference => NULL,
                    broadcast_id => NULL, created_at => NULL, attempts => 1, sent => \(sent), remaining => \(left))])
                """
            )
        }
        #expect(try await database.rows("TABLE carillon.unfinished").isEmpty)
        #expect(
            try await database.rows("SELECT app_id, message_id, sent FROM carillon.results ORDER BY 1") == [
                "(1,7,2)", "(2,7,3)",
            ]
        )
    }

    @Test func `a cancel does not wait for a cancel of the same id in another app`() async throws {
        try await database.run(
            """
            \(Self.apps)
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (8, 1, '{a1}', '{}'), (8, 2, '{a2}', '{}')
            """
        )
        try await database.session { other in
            try await other.run("BEGIN; SELECT carillon.cancel(8, 'other')")
            try await database.run("SET lock_timeout = '100ms'")
            #expect(try await database.value("carillon.cancel(8, 'demo')") == "1")
            try await other.run("COMMIT")
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
    }

    @Test func `cancelling the message of one app leaves the one of the other`() async throws {
        try await database.run(Self.inFlight)
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (8, 1, '{a1}', '{}'), (8, 2, '{a2}', '{}');
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            VALUES (9, 1, '{b1}', '{}', now()), (9, 2, '{b2}', '{}', now())
            """
        )
        #expect(try await database.value("carillon.cancel_messages('{7,8,9}', app => 'other')") == "2")
        #expect(
            try await database.rows("SELECT app_id, message_id, cancelled FROM carillon.results ORDER BY 1, 2") == [
                "(2,8,1)", "(2,9,1)",
            ]
        )
        try await database.run("SELECT carillon.promote(10); SELECT carillon.release(1, '{1,2}')")
        #expect(
            try await database.rows("SELECT app_id, id, tokens FROM carillon.messages ORDER BY 2") == [
                "(1,7,\"{aa,bb}\")", "(1,8,{a1})", "(1,9,{b1})",
            ]
        )
        #expect(
            try await database.rows("SELECT message_id, cancelled FROM carillon.results WHERE app_id = 2 ORDER BY 1")
                == ["(7,3)", "(8,1)", "(9,1)"]
        )
        // Without an app, the id means the messages of all apps.
        try await database.run(
            "INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (8, 2, '{a2}', '{}')"
        )
        #expect(try await database.value("carillon.cancel(8)") == "2")
    }

    @Test func `messages and jobs of a dead worker return to their own apps`() async throws {
        try await database.run(
            """
            \(Self.inFlight)
            INSERT INTO carillon.cancelled (app_id, message_id) VALUES (1, 7);
            DELETE FROM carillon.workers;
            SELECT carillon.take_over(0);
            """
        )
        #expect(try await database.rows("SELECT app_id, tokens FROM carillon.messages") == ["(2,\"{cc,dd,ee}\")"])
        #expect(try await database.rows("SELECT app_id, message_id, cancelled FROM carillon.results") == ["(1,7,2)"])
        try await database.run(
            """
            INSERT INTO carillon.messages (id, app_id, tokens, payload) VALUES (7, 1, '{aa,bb}', '{}');
            SELECT carillon.split(1, 1::smallint, 7, 1), carillon.split(2, 1::smallint, 7, 1)
            """
        )
        #expect(
            try await database.rows("SELECT app_id, message_id, remaining FROM carillon.unfinished ORDER BY 1") == [
                "(2,7,3)"
            ]
        )
    }

    @Test func `broadcasts of one id in two apps have their own status and are cancelled separately`() async throws {
        try await database.run(
            """
            \(Self.apps)
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens)
            SELECT app, 100, 101, 2, 2, 2 FROM generate_series(1, 2) app;
            INSERT INTO carillon.messages (id, app_id, lane, tokens, payload, broadcast_id)
            SELECT 100 + n, app, 2, '{aa}', '{}', 100 FROM generate_series(1, 2) app, generate_series(0, 1) n;
            DELETE FROM carillon.messages WHERE app_id = 2 AND id = 100;
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent) VALUES (100, 2, 100, 1)
            """
        )
        let error = try await #require(throws: (any Error).self) {
            try await database.rows("SELECT * FROM carillon.broadcast_progress(100)")
        }
        #expect("\(error)".contains("The apps are: demo, other."), "\(error)")
        let progress = "SELECT app_id, tokens, sent, cancelled, waiting FROM carillon.broadcast_progress"
        #expect(try await database.rows("\(progress)(100, app => 'demo')") == ["(1,2,0,0,2)"])
        #expect(try await database.rows("\(progress)(100, app => 'other')") == ["(2,2,1,0,1)"])
        #expect(try await database.value("carillon.cancel_broadcast(100, app => 'demo')") == "2")
        #expect(try await database.rows("\(progress)(100, app => 'demo')") == ["(1,2,0,2,0)"])
        #expect(try await database.rows("\(progress)(100, app => 'other')") == ["(2,2,1,0,1)"])
    }

    @Test func `when the apps that share an id have been removed, the error says where the counts are`() async throws {
        try await database.run(
            """
            \(Self.apps)
            INSERT INTO carillon.results (message_id, app_id, sent) VALUES (100, 1, 1), (100, 2, 1);
            DELETE FROM carillon.apps
            """
        )
        let error = await database.refusal(of: "SELECT carillon.broadcast_progress(100)")
        #expect(error?.message.hasPrefix(#"argument "app" takes the name of one of the apps"#) == true)
        #expect(error?.hint?.contains("carillon.results") == true, "\(error?.hint ?? "")")
    }

    @Test func `message_status returns a row for each app that has the id or reference, or for the one that is named`()
        async throws
    {
        try await database.run(
            """
            \(Self.apps)
            INSERT INTO carillon.messages (id, app_id, tokens, payload, reference)
            VALUES (7, 1, '{aa}', '{}', 'r'), (7, 2, '{bb,cc}', '{}', 'r')
            """
        )
        for key in ["7", "reference => 'r'"] {
            let status = { (more: String) in "SELECT app, tokens FROM carillon.message_status(\(key)\(more))" }
            #expect(try await database.rows(status("")) == ["(demo,1)", "(other,2)"])
            #expect(try await database.rows(status(", app => 'demo'")) == ["(demo,1)"])
            #expect(try await database.rows(status(", app => 'other'")) == ["(other,2)"])
        }
    }

    @Test func `failures of one id in two apps are requeued with their own tokens and payload`() async throws {
        try await database.run(
            """
            \(Self.apps)
            INSERT INTO carillon.failures (message_id, app_id, token, reason) VALUES
                (7, 1, 'aa', 'Unqueued'), (7, 2, 'bb', 'Unqueued'), (8, 1, 'cc', 'Unqueued'), (8, 2, 'dd', 'Unqueued');
            INSERT INTO carillon.failed_messages (message_id, app_id, lane, payload, push_type, on_unknown)
            SELECT id, app, 1, to_json('app ' || app), 'alert', 'retry'
            FROM generate_series(7, 8) id, generate_series(1, 2) app;
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, failed) VALUES (8, 2, 7, 1), (8, 1, NULL, 1)
            """
        )
        #expect(try await database.value("carillon.requeue_failures(app => 'demo', message_id => 7)") == "1")
        #expect(
            try await database.rows("SELECT app_id, tokens, payload FROM carillon.messages") == [
                #"(1,{aa},"""app 1""")"#
            ]
        )
        #expect(try await database.value("carillon.requeue_failures(app => 'other', message_id => 7)") == "2")
        #expect(
            try await database.rows("SELECT DISTINCT payload::text FROM carillon.messages WHERE app_id = 2") == [
                #"("""app 2""")"#
            ]
        )
    }
}
