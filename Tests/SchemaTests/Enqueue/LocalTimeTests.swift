import CarillonPostgres
import TestSupport
import Testing

/// Broadcasts with `run_at_local`.
@Suite(.demo) struct LocalTimeTests {
    private static let tokens = """
        INSERT INTO carillon.tokens (app_id, token, time_zone, locale)
        SELECT 1, lpad(to_hex(n), 4, '0'), (ARRAY['Europe/Berlin', 'Asia/Tokyo', 'Asia/Kolkata'])[1 + n % 3],
            CASE WHEN n < 9 THEN 'de' END
        FROM generate_series(1, 30) AS n
        """

    @Test func `each job of a broadcast at a local time has tokens of one zone, and is due then by its clocks`()
        async throws
    {
        try await database.run(Self.tokens)
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, time_zone)
            SELECT 1, 'ee' || lpad(to_hex(n), 4, '0'), 'Asia/Tokyo' FROM generate_series(1, 1500) AS n
            """
        )
        for alert in ["'x'", "'{\"title\": \"x\"}'::jsonb"] {
            let id = try #require(
                try await database.value("carillon.broadcast('demo', \(alert), run_at_local => '09:00')")
            )
            #expect(
                try await database.rows(
                    """
                    SELECT t.time_zone, count(DISTINCT s.id), count(DISTINCT t.token), count(*),
                        bool_and((s.run_at AT TIME ZONE t.time_zone)::time = '09:00'),
                        bool_and(s.run_at >= now() AND s.run_at < now() + interval '25 h'),
                        bool_and(s.broadcast_id = \(id))
                    FROM carillon.scheduled s, unnest(s.tokens) AS u(token) JOIN carillon.tokens t ON t.token = u.token
                    GROUP BY 1 ORDER BY 1
                    """
                ) == [
                    "(Asia/Kolkata,1,10,10,t,t,t)", "(Asia/Tokyo,2,1510,1510,t,t,t)", "(Europe/Berlin,1,10,10,t,t,t)",
                ]
            )
            #expect(
                try await database.rows(
                    """
                    SELECT z.time_zone, z.tokens, z.waiting, z.run_at = (SELECT min(s.run_at) FROM carillon.scheduled s
                        JOIN carillon.tokens t ON t.token = s.tokens[1] WHERE t.time_zone = z.time_zone)
                    FROM carillon.broadcast_zones(\(id)) z ORDER BY 1
                    """
                ) == ["(Asia/Kolkata,10,10,t)", "(Asia/Tokyo,1510,1510,t)", "(Europe/Berlin,10,10,t)"]
            )
            #expect(try await database.value("SELECT tokens FROM carillon.broadcast_progress(\(id))") == "1530")
            #expect(try await database.value("carillon.cancel(\(id))") == "4")
            #expect(
                try await database.rows(
                    "SELECT sum(cancelled), sum(waiting) FROM carillon.broadcast_zones(\(id))"
                ) == ["(1530,0)"]
            )
        }
    }

    /// A local time, the present, and when clocks in Berlin next show that time.
    private static let times = [
        ("09:00", "2026-06-01 08:59+02", "2026-06-01 09:00+02"),
        ("09:00", "2026-06-01 09:00+02", "2026-06-01 09:00+02"),
        ("09:00", "2026-06-01 09:01+02", "2026-06-02 09:00+02"),
        ("09:00", "2026-03-28 10:00+01", "2026-03-29 09:00+02"),
        ("09:00", "2026-10-24 10:00+02", "2026-10-25 09:00+01"),
        ("00:00:30", "2026-06-01 23:59+02", "2026-06-02 00:00:30+02"),
        // 02:30 does not exist: as much later as the clocks are put forward.
        ("02:30", "2026-03-28 12:00+01", "2026-03-29 03:30+02"),
        ("02:30", "2026-03-29 03:10+02", "2026-03-29 03:30+02"),
        ("02:30", "2026-03-29 03:31+02", "2026-03-30 02:30+02"),
        // It comes twice: the second counts.
        ("02:30", "2026-10-24 12:00+02", "2026-10-25 02:30+01"),
        ("02:30", "2026-10-25 02:40+02", "2026-10-25 02:30+01"),
        ("2026-12-24 09:00", "2026-12-25 00:00+01", "2026-12-24 09:00+01"),
        ("2026-03-29T02:30:00", "2026-01-01 00:00+01", "2026-03-29 03:30+02"),
    ]

    @Test func `a local time is the next one by the clocks of the zone, even across a change of summer time`()
        async throws
    {
        for (local, now, time) in Self.times {
            let found = "carillon.next_local_time('\(local)', 'Europe/Berlin', '\(now)')"
            #expect(try await database.value("SELECT \(found) = '\(time)'") == "true", "\(local) \(now)")
        }
    }

    @Test func `tokens without a known zone take that of the call, or else the app's, or the call is refused`()
        async throws
    {
        try await database.run(
            """
            INSERT INTO carillon.tokens (app_id, token, time_zone) VALUES (1, 'aa', NULL), (1, 'ab', 'Not/AZone'),
                (1, 'ac', 'Asia/Tokyo')
            """
        )
        let call = "carillon.broadcast('demo', 'x', run_at_local => '09:00'"
        let error = await #expect(throws: PostgresError.self) { try await database.value(call + ")") }
        #expect(
            error?.message.hasPrefix("argument \"time_zone\" takes a time zone, because some tokens have none") == true
        )
        try await database.run("UPDATE carillon.apps SET time_zone = 'Asia/Kolkata'")
        for (arguments, zone) in [("", "Asia/Kolkata"), (", time_zone => 'Europe/Berlin'", "Europe/Berlin")] {
            let id = try #require(try await database.value(call + arguments + ")"))
            #expect(
                try await database.rows(
                    "SELECT time_zone, tokens FROM carillon.broadcast_zones(\(id)) ORDER BY tokens"
                ) == ["(Asia/Tokyo,1)", "(\(zone),2)"]
            )
        }
    }

    @Test func `it may be to some, has one dedupe key, and with a date that has passed it is due at once`() async throws
    {
        try await database.run(Self.tokens)
        let call = """
            carillon.broadcast('demo', 'x', run_at_local => '2020-01-01 09:00', locales => '{de}', dedupe_key => 'k',
                on_duplicate => 'existing')
            """
        let id = try #require(try await database.value(call))
        #expect(try await database.value(call) == id)
        #expect(
            try await database.rows("SELECT sum(cardinality(tokens)), count(*) FROM carillon.messages") == ["(8,3)"]
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
        #expect(try await database.value("SELECT sum(tokens) FROM carillon.broadcast_zones(\(id))") == "8")
    }

    @Test func `quiet hours hold a local broadcast by the clocks of each zone, when it is placed and when it is due`()
        async throws
    {
        try await database.run(Self.tokens)
        try await database.run("UPDATE carillon.apps SET time_zone = 'Europe/Berlin', quiet_hours = '22:00-07:00'")
        for (local, expected) in [("23:00", "07:00:00"), ("12:00", "12:00:00")] {
            let id = try #require(
                try await database.value("carillon.broadcast('demo', 'x', run_at_local => '\(local)')")
            )
            let times = "SELECT DISTINCT (run_at AT TIME ZONE time_zone)::time FROM carillon.broadcast_zones(\(id))"
            #expect(try await database.rows(times) == ["(\(expected))"])
            _ = try await database.value("carillon.cancel(\(id))")
        }
        // All clocks of one zone show quiet hours, whatever the time is, and those of the others do not.
        let id = try #require(
            try await database.value("carillon.broadcast('demo', 'x', run_at_local => '12:00')")
        )
        try await database.run(
            """
            UPDATE carillon.scheduled SET run_at = now();
            UPDATE carillon.apps SET quiet_hours = to_char((now() - interval '1 h') AT TIME ZONE 'Asia/Tokyo', 'HH24:MI')
                || '-' || to_char((now() + interval '1 h') AT TIME ZONE 'Asia/Tokyo', 'HH24:MI')
            """
        )
        _ = try await database.rows("SELECT * FROM carillon.promote(100)")
        #expect(
            try await database.rows(
                "SELECT DISTINCT t.time_zone FROM carillon.scheduled s JOIN carillon.tokens t ON t.token = s.tokens[1]"
            ) == ["(Asia/Tokyo)"]
        )
        #expect(try await database.value("SELECT waiting FROM carillon.broadcast_progress(\(id))") == "30")
    }

    @Test(arguments: [
        ("run_at_local => 'nine'", "run_at_local"), ("run_at_local => '9:00'", "run_at_local"),
        ("run_at_local => '24:00'", "run_at_local"), ("run_at_local => ''", "run_at_local"),
        ("run_at_local => '2026-02-30 09:00'", "run_at_local"), ("run_at_local => '1026-02-03 09:00'", "run_at_local"),
        ("run_at_local => '09:00', time_zone => 'CEST'", "time_zone"),
        ("run_at_local => '09:00', time_zone => ''", "time_zone"), ("time_zone => 'UTC'", "time_zone"),
        ("run_at_local => '09:00', run_at => now()", "run_at"),
        ("run_at_local => '09:00', expires_at => now() + interval '1 s'", "expires_at"),
    ])
    func `a local time that cannot be meant is refused, and nothing is enqueued`(
        arguments: String,
        argument: String
    ) async throws {
        try await database.run(Self.tokens)
        let error = await #expect(throws: PostgresError.self) {
            try await database.value("carillon.broadcast('demo', 'x', \(arguments))")
        }
        #expect(error?.message.hasPrefix("argument \"\(argument)\" takes ") == true, "\(error?.message ?? "")")
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
    }

    @Test func `a null local time is left out, and broadcast_zones has no rows for a broadcast without one`()
        async throws
    {
        try await database.run(Self.tokens)
        let id = try #require(
            try await database.value("carillon.broadcast('demo', 'x', run_at_local => NULL, time_zone => NULL)")
        )
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "1")
        #expect(try await database.rows("SELECT * FROM carillon.broadcast_zones(\(id))") == [])
        let error = await #expect(throws: PostgresError.self) {
            try await database.rows("SELECT * FROM carillon.broadcast_zones(999)")
        }
        #expect(error?.sqlState == "P0002")
    }
}
