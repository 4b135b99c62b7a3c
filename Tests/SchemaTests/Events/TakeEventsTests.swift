import CarillonPostgres
import TestSupport
import Testing

/// `carillon.take_events`, as sessions of a consumer call it.
@Suite(.demo) struct TakeEventsTests {
    private static let follow = "SELECT carillon.subscribe('demo', 'follower')"

    /// Notes that these tokens are dead, in one row of events.
    private static func note(_ tokens: String...) -> String {
        let times = tokens.map { _ in "now()" }.joined(separator: ", ")
        return "SELECT carillon.note_dead(1, '{\(tokens.joined(separator: ","))}', ARRAY[\(times)])"
    }

    private static func take(_ number: Int = 100) -> String {
        "SELECT e.token FROM carillon.take_events('follower', \(number)) AS e"
    }

    @Test func `what was taken comes again after a rollback, and not after a commit`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2")); \(Self.note("a3"))")
        try await database.run("BEGIN")
        #expect(try await database.rows(Self.take()) == ["(a1)", "(a2)", "(a3)"])
        #expect(try await database.rows(Self.take()) == [])
        try await database.run("ROLLBACK; BEGIN")
        #expect(try await database.rows(Self.take()) == ["(a1)", "(a2)", "(a3)"])
        try await database.run("COMMIT")
        #expect(try await database.rows(Self.take()) == [])
    }

    @Test func `an event that comes again has the same id, even if it is taken with fewer others`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2", "a3"))")
        try await database.run("BEGIN")
        let all = try await database.rows("SELECT e.id, e.token FROM carillon.take_events('follower') AS e")
        try await database.run("ROLLBACK")
        var some: [String] = []
        for _ in all {
            some += try await database.rows("SELECT e.id, e.token FROM carillon.take_events('follower', 1) AS e")
        }
        #expect(some == all && all.count == 3)
        #expect(try await database.number("SELECT count(*) FROM carillon.untaken_events") == 0)
    }

    @Test func `sessions of one consumer share its events, and none waits for another`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2")); \(Self.note("a3")); \(Self.note("a4"))")
        try await database.session { other in
            try await other.run("SET lock_timeout = '100ms'; BEGIN")
            // It has the first row whole until it commits, though it takes only a part of it.
            #expect(try await other.rows(Self.take(1)) == ["(a1)"])
            try await database.run("SET lock_timeout = '100ms'")
            #expect(try await database.rows(Self.take(1)) == ["(a3)"])
            try await other.run("COMMIT")
            #expect(try await database.rows(Self.take()) == ["(a2)", "(a4)"])
        }
    }

    @Test(arguments: [false, true])
    func `what a session has taken comes again if the session dies before its commit, and not after`(
        commits: Bool
    ) async throws {
        try await database.run("\(Self.follow); \(Self.note("a1"))")
        try await database.session { other in
            try await other.run("BEGIN")
            #expect(try await other.rows(Self.take()) == ["(a1)"])
            #expect(try await database.rows(Self.take()) == [])
            if commits { try await other.run("COMMIT") }
            let process = other.connection.backendProcessID
            #expect(try await database.value("pg_terminate_backend(\(process), 60000)") == "true")
        }
        #expect(try await database.rows(Self.take()) == (commits ? [] : ["(a1)"]))
    }

    @Test func `what commits late is not passed over, and nobody waits for a long transaction`() async throws {
        try await database.run(Self.follow)
        try await database.session { reader in
            try await reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM carillon.untaken_events")
            try await database.session { late in
                try await late.run("BEGIN; \(Self.note("a1"))")
                try await database.run("SET lock_timeout = '100ms'; \(Self.note("a2"))")
                #expect(try await database.rows(Self.take()) == ["(a2)"])
                try await late.run("COMMIT")
            }
            #expect(try await database.rows(Self.take()) == ["(a1)"])
            try await reader.run("COMMIT")
        }
    }

    @Test func `no transaction waits for one that subscribes or unsubscribes`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1"))")
        try await database.session { other in
            try await other.run("BEGIN; SELECT carillon.unsubscribe('demo', 'follower')")
            try await database.run("SET lock_timeout = '100ms'; \(Self.note("a2"))")
            #expect(try await database.rows(Self.take()) == ["(a1)", "(a2)"])
            try await other.run("COMMIT; BEGIN; \(Self.follow)")
            try await database.run(Self.note("a3"))
            try await other.run("COMMIT")
        }
        try await database.run(Self.note("a4"))
        #expect(try await database.rows(Self.take()) == ["(a4)"])
    }

    @Test func `each consumer takes all events of the kinds that it follows`() async throws {
        try await database.run("\(Self.follow); SELECT carillon.subscribe('demo', 'pauses', '{app_held,app_resumed}')")
        try await database.run("\(Self.note("a1")); SELECT carillon.pause_app('demo', 'a sale')")
        let waiting = "SELECT consumer, kinds, events FROM carillon.consumers ORDER BY 1"
        #expect(try await database.rows(waiting) == ["(follower,,2)", #"(pauses,"{app_held,app_resumed}",1)"#])
        #expect(
            try await database.rows("SELECT kind, app, reason FROM carillon.take_events('pauses')")
                == [#"(app_held,demo,"paused: a sale")"#]
        )
        let all = try await database.rows("SELECT kind FROM carillon.take_events('follower')")
        #expect(all == ["(token_dead)", "(app_held)"])
        // Other kinds, from now on.
        #expect(try await database.value("carillon.subscribe('demo', 'pauses', '{token_dead}')") == "false")
        try await database.run("SELECT carillon.resume_app('demo'); \(Self.note("a2"))")
        #expect(try await database.rows("SELECT token FROM carillon.take_events('pauses')") == ["(a2)"])
    }

    @Test func `a consumer of several apps takes the events of all`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name, topic) VALUES ('other', 'com.example.other');
            SELECT carillon.subscribe('other', 'follower'); \(Self.follow);
            \(Self.note("a1")); SELECT carillon.note_dead(2, '{b1,b2}', ARRAY[now(), now()])
            """
        )
        let events = try await database.rows("SELECT app, token FROM carillon.take_events('follower', 3)")
        #expect(Set(events) == ["(demo,a1)", "(other,b1)", "(other,b2)"])
    }

    @Test func `with start_at, a consumer takes what was stored for others`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2")); SELECT carillon.pause_app('demo')")
        try await database.run(
            """
            SELECT carillon.subscribe('demo', 'late'), carillon.subscribe('demo', 'dead', '{token_dead}', now() - interval '1 hour'),
                carillon.subscribe('demo', 'all', start_at => now() - interval '1 hour')
            """
        )
        #expect(
            try await database.rows("SELECT consumer, events FROM carillon.consumers ORDER BY 1")
                == ["(all,3)", "(dead,2)", "(follower,3)", "(late,0)"]
        )
        #expect(try await database.rows("SELECT token FROM carillon.take_events('dead')") == ["(a1)", "(a2)"])
    }

    @Test func `an isolated role takes no events of another app, even of a consumer with the same name`() async throws {
        try await IsolationTests.isolated { database, role async throws in
            try await database.run("SELECT carillon.subscribe('demo', 'mine')")
            try await database.run(
                """
                RESET ROLE; SELECT carillon.subscribe('other', 'mine'), carillon.subscribe('other', 'theirs'),
                    carillon.note_dead(1, '{c1}', ARRAY[now()]), carillon.note_dead(2, '{c2}', ARRAY[now()]); SET ROLE \(role)
                """
            )
            let consumers = "SELECT app, consumer, events FROM carillon.consumers ORDER BY app, consumer"
            #expect(try await database.rows(consumers) == ["(demo,mine,1)"])
            // Not even in the error of a condition that is evaluated for each row.
            let casts = "CASE consumer WHEN 'mine' THEN 1 ELSE consumer::integer END = 1"
            #expect(try await database.rows("SELECT consumer FROM carillon.consumers WHERE \(casts)") == ["(mine)"])
            #expect(try await database.rows("SELECT app, token FROM carillon.take_events('mine')") == ["(demo,c1)"])
            try await database.run("RESET ROLE")
            #expect(try await database.rows(consumers) == ["(demo,mine,0)", "(other,mine,1)", "(other,theirs,1)"])
        }
    }

    @Test func `what subscribe and take_events refuse says what they take`() async throws {
        for (call, refusal) in [
            ("subscribe('nope', 'c')", #""app" takes the name of an app, got 'nope'"#),
            ("subscribe('demo', '')", #""consumer" takes text of 1 to 255 bytes, got ''"#),
            ("subscribe('demo', 'c', '{sent,nope}')", #""kinds" takes kinds of events, or null for all, got 'nope'"#),
            ("subscribe('demo', 'c', '{}')", #""kinds" takes kinds of events, or null for all, got none"#),
            ("take_events('c')", #""consumer" takes the name of a consumer, got 'c'"#),
            ("take_events('c', 0)", #""n" takes a number from 1 to 100000, got 0"#),
        ] {
            let error = await database.refusal(of: "SELECT carillon.\(call)", "\(call)")
            #expect(error?.message == "argument \(refusal)", "\(call)")
        }
        let error = await database.refusal(
            of: "SELECT carillon.subscribe('demo', 'c', start_at => now() + interval '1 day')"
        )
        #expect(error?.message.contains("\"start_at\" takes a time that is not in the future") == true)
    }

    @Test func `an app has at most a hundred consumers, which may still subscribe again`() async throws {
        let calls = "SELECT count(carillon.subscribe('demo', 'c' || i)) FROM generate_series(1, 100) AS i"
        try await database.run("\(calls); \(calls); SELECT carillon.subscribe('demo', 'c7', '{failed}')")
        let error = await database.refusal(of: Self.follow)
        #expect(error?.message == "argument \"consumer\" takes one of at most 100 names for an app, got 'follower'")
        try await database.run("SELECT carillon.unsubscribe('demo', 'c7'); \(Self.follow)")
    }
}
