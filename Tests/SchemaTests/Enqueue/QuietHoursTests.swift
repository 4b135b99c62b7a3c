import CarillonPostgres
import TestSupport
import Testing

/// Pushes that wait for the end of an app's quiet hours.
@Suite(.demo) struct QuietHoursTests {
    /// Quiet hours that began an hour ago and last for another, give or take the seconds of this minute.
    private static let nowQuiet = """
        UPDATE carillon.apps SET time_zone = 'Asia/Kolkata', quiet_hours =
            to_char((now() - interval '1 h') AT TIME ZONE 'Asia/Kolkata', 'HH24:MI') || '-'
            || to_char((now() + interval '1 h') AT TIME ZONE 'Asia/Kolkata', 'HH24:MI')
        """
    private static let end = "carillon.quiet_end(a.quiet_hours, a.time_zone, now())"

    private static let held = [
        "carillon.enqueue('demo', '{aa}', 'x')", "carillon.enqueue('demo', '{aa}', 'x', priority => 5)",
        "carillon.enqueue('demo', '{aa}', '{\"title\": \"x\"}'::jsonb)",
        "carillon.enqueue('demo', '{aa}', 'x', run_at => now() + interval '1 min')",
        "carillon.enqueue('demo', '{aa}', content_available => true)", "carillon.push('demo', '{aa}', 'x', 1, 'a')",
        #"carillon.push('demo', '{aa}', '{"aps":{"alert":"x"}}')"#,
        #"(carillon.push_each('demo', '{aa}', ARRAY['{"aps":{"alert":"x"}}']))[1]"#,
        "carillon.enqueue('demo', '{aa}', 'x', dedupe_key => 'k')", "carillon.broadcast('demo', 'x')",
        "carillon.enqueue('demo', '{aa,ab}', payloads => ARRAY['{\"aps\":{\"alert\":1}}', '{\"aps\":{\"alert\":2}}'])",
    ]
    private static let passing = [
        "carillon.enqueue('demo', '{aa}', 'x', priority => 10)", "carillon.broadcast('demo', 'x', priority => 10)",
        "carillon.enqueue('demo', '{aa}', push_type => 'voip', payload => '{}')",
    ]

    @Test func `in quiet hours each call places its push at their end, unless its priority or its type passes`()
        async throws
    {
        try await database.useSigningKey()
        try await database.run(Self.nowQuiet + "; INSERT INTO carillon.tokens (app_id, token) VALUES (1, 'ab')")
        for call in Self.held {
            let id = try #require(try await database.value(call), "\(call)")
            let placed = "SELECT s.run_at = \(Self.end) FROM carillon.scheduled s, carillon.apps a WHERE s.id = \(id)"
            #expect(try await database.rows(placed) == ["(t)"], "\(call)")
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.messages") == "0")
        for call in Self.passing {
            let id = try #require(try await database.value(call), "\(call)")
            #expect(
                try await database.value("SELECT count(*) FROM carillon.messages WHERE id = \(id)") == "1",
                "\(call)"
            )
        }
        let call = "carillon.enqueue('demo', '{aa}', 'x', run_at => now() + interval '90 min')"
        let id = try #require(try await database.value(call))
        let kept = "SELECT run_at - created_at FROM carillon.scheduled WHERE id = \(id)"
        #expect(try await database.value(kept) == "01:30:00")
    }

    @Test(arguments: [(1, "1"), (5, "1,5"), (10, "1,5,10")])
    func `quiet_priority is the highest priority that waits`(highest: Int, waiting: String) async throws {
        try await database.run(Self.nowQuiet + "; UPDATE carillon.apps SET quiet_priority = \(highest)")
        for priority in [1, 5, 10] {
            _ = try await database.value("carillon.enqueue('demo', '{aa}', 'x', priority => \(priority))")
        }
        #expect(
            try await database.value("SELECT string_agg(priority::text, ',' ORDER BY priority) FROM carillon.scheduled")
                == waiting
        )
    }

    /// The hours, a time, and when the hours that contain it end; empty outside them.
    private static let ends: [(hours: String, at: String, end: String)] = [
        ("22:00-07:00", "2026-06-01 21:59:59.999+02", ""),
        ("22:00-07:00", "2026-06-01 22:00+02", "2026-06-02 07:00+02"),
        ("22:00-07:00", "2026-06-02 06:59:59+02", "2026-06-02 07:00+02"), ("22:00-07:00", "2026-06-02 07:00+02", ""),
        ("12:00-14:00", "2026-06-01 13:00+02", "2026-06-01 14:00+02"), ("12:00-14:00", "2026-06-01 14:00+02", ""),
        // Clocks are put forward, and back.
        ("22:00-07:00", "2026-03-28 23:00+01", "2026-03-29 07:00+02"),
        ("22:00-07:00", "2026-10-24 23:00+02", "2026-10-25 07:00+01"),
        // 02:30 does not exist, and comes twice.
        ("22:00-02:30", "2026-03-29 01:59+01", "2026-03-29 03:30+02"), ("22:00-02:30", "2026-03-29 03:30+02", ""),
        ("22:00-02:30", "2026-10-25 02:45+02", "2026-10-25 02:30+01"), ("22:00-02:30", "2026-10-25 02:30+01", ""),
        ("02:30-05:00", "2026-10-25 02:45+02", ""), ("02:30-05:00", "2026-10-25 02:30+01", "2026-10-25 05:00+01"),
    ]

    @Test func `quiet hours begin and end by the clocks of the zone, even across a change of summer time`()
        async throws
    {
        for (hours, at, end) in Self.ends {
            let found = "carillon.quiet_end('\(hours)', 'Europe/Berlin', '\(at)')"
            let expected = end.isEmpty ? "\(found) IS NULL" : "\(found) = '\(end)'"
            #expect(try await database.value("SELECT \(expected)") == "true", "\(hours) \(at)")
        }
    }

    @Test func `what becomes due in quiet hours waits for their end, retries too, and can be cancelled`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, priority, run_at, attempt) VALUES
                (-1, 1, '{aa}', '{}', NULL, now(), 2), (-2, 1, '{ab}', '{}', 10, now(), 2),
                (-3, 2, '{ac}', '{}', 5, now(), 1)
            """
        )
        try await database.run(Self.nowQuiet + " WHERE id = 1")
        let kinds = try await database.rows("SELECT kind, app_id, jobs FROM carillon.promote(10) ORDER BY 1, 2")
        #expect(kinds == ["(lane,1,1)", "(lane,2,1)", "(position,,)"])
        #expect(
            try await database.rows(
                "SELECT s.id, s.run_at = \(Self.end) FROM carillon.scheduled s JOIN carillon.apps a ON a.id = s.app_id"
            ) == ["(-1,t)"]
        )
        #expect(try await database.value("carillon.cancel(-1, app => 'demo')") == "1")
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
    }

    @Test func `message_status and trace say that a push waits for the end of quiet hours`() async throws {
        try await database.run(Self.nowQuiet)
        let id = try #require(try await database.value("carillon.enqueue('demo', '{aa}', 'x')"))
        let words = "SELECT format('the app''s quiet hours last until %s in Asia/Kolkata', right(quiet_hours, 5))"
        let text = try #require(try await database.value("(\(words) FROM carillon.apps)"))
        let reason = try await database.value("SELECT waiting_reason FROM carillon.message_status(\(id))")
        #expect(reason?.hasSuffix(text) == true, "\(reason ?? "")")
        let trace = try await database.value(
            "SELECT what FROM carillon.trace('demo', message_id => \(id)) WHERE event = 'scheduled'"
        )
        #expect(trace?.contains(text) == true, "\(trace ?? "")")
        try await database.run("UPDATE carillon.apps SET quiet_hours = NULL")
        let after = try await database.value("SELECT waiting_reason FROM carillon.message_status(\(id))")
        #expect(after?.contains("quiet") != true)
    }

    @Test func `a push that has expired is not held again when it becomes due in quiet hours`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, expires_at, run_at)
            VALUES (-1, 1, '{aa}', '{}', now() - interval '1 s', now())
            """
        )
        try await database.run(Self.nowQuiet)
        let kinds = try await database.rows("SELECT kind, app_id, jobs FROM carillon.promote(10) ORDER BY 1, 2")
        #expect(kinds == ["(lane,1,1)", "(position,,)"])
        #expect(try await database.value("SELECT count(*) FROM carillon.scheduled") == "0")
    }

    @Test func `a push that expires in quiet hours keeps its expiry`() async throws {
        try await database.run(Self.nowQuiet)
        _ = try await database.value("carillon.enqueue('demo', '{aa}', 'x', expires_at => now() + interval '1 min')")
        #expect(
            try await database.rows(
                "SELECT expires_at < run_at, expires_at > now() FROM carillon.scheduled"
            ) == ["(t,t)"]
        )
    }

    @Test(
        arguments: [
            ("time_zone = 'CEST'", "apps_time_zone_is_a_name"), ("time_zone = ''", "apps_time_zone_is_a_name"),
            ("time_zone = 'Berlin-1'", "apps_time_zone_is_a_name"), ("time_zone = 'Europe/Atlantis'", nil),
            ("quiet_hours = '22:00-07:00'", "apps_quiet_hours_have_a_time_zone"),
            ("time_zone = 'UTC', quiet_hours = '22-7'", "apps_quiet_hours_are_two_times"),
            ("time_zone = 'UTC', quiet_hours = '22:00-24:00'", "apps_quiet_hours_are_two_times"),
            ("time_zone = 'UTC', quiet_hours = '07:00-07:00'", "apps_quiet_hours_are_two_times"),
            ("quiet_priority = 7", "apps_quiet_priority_is_known"),
        ] as [(String, String?)]
    )
    func `a setting of quiet hours that cannot be meant is refused`(setting: String, constraint: String?) async throws {
        let error = await #expect(throws: PostgresError.self) {
            try await database.run("UPDATE carillon.apps SET \(setting)")
        }
        #expect(error?.constraint == constraint)
        if constraint == nil { #expect(error?.message == "time zone \"Europe/Atlantis\" not recognized") }
    }
}
