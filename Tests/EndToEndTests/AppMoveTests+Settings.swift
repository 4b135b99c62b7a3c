import CarillonPostgres
import TestSupport
import Testing

/// What belongs to an app beside its rows.
extension AppMoveTests {
    @Test func `tables that the app watches are watched in the target, and are looked for there before the move`()
        async throws
    {
        let devices = """
            CREATE TABLE public.devices (token text, seen timestamptz);
            GRANT SELECT, DELETE ON public.devices TO carillon_reaper
            """
        try await withTarget { target in
            try await prepare()
            try await queue.database.run(devices)
            try await queue.database.run("SELECT carillon.watch_tokens('app', 'public.devices', 'token', 'seen')")
            let error = await #expect(throws: PostgresError.self) { try await move(to: target) }
            #expect(error?.message == "the app cannot watch public.devices here: there is no such table")
            #expect(error?.database == "the target b/two")
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.moves") == 0)

            try await target.run(devices)
            try await move(to: target)
            try await expectMoved(target)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.watched_tables") == 0)
            try await target.run(
                """
                INSERT INTO public.devices VALUES ('ee', '2020-01-01Z');
                INSERT INTO carillon.feedback (app_id, token, unregistered_at) VALUES (2, 'ee', '2020-01-02Z');
                SELECT carillon.reap()
                """
            )
            #expect(try await target.number("SELECT count(*) FROM public.devices") == 0)
        }
    }

    @Test
    func `roles that are isolated to the app have it in the target, and are told so in the source`() async throws {
        let role = "moved_\(queue.database.connection.backendProcessID)"
        try await queue.database.run("CREATE ROLE \(role); SELECT carillon.isolate_app('app', '\(role)')")
        try await attempt {
            try await withTarget { target in
                try await prepare()
                try await move(to: target)
                try await expectMoved(target)
                let enqueue = "SELECT carillon.enqueue('app', ARRAY['aa'], alert => 'x')"
                try await target.run("SET ROLE \(role); \(enqueue); RESET ROLE")
                try await target.run("SET ROLE \(role)")
                #expect(try await target.rows("SELECT id, name FROM carillon.apps") == ["(2,app)"])
                try await target.run("RESET ROLE")
                let error = await queue.database.refusal(of: "SET ROLE \(role); \(enqueue)")
                #expect(error?.message.contains(Self.refused) == true)
            }
        } finally: {
            try await queue.database.run("RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    @Test func `max_rate and the turns that were taken move with the app`() async throws {
        try await withTarget { target in
            try await prepare()
            try await queue.database.run("UPDATE carillon.apps SET max_rate = 1; SELECT carillon.take_rate_turn(1, 50)")
            let next = try await queue.database.value("SELECT extract(epoch FROM next_at) FROM carillon.rates")
            try await move(to: target)
            try await expectMoved(target)
            #expect(
                try await target.rows("SELECT app_id, extract(epoch FROM next_at) FROM carillon.rates")
                    == ["(2,\(next ?? ""))"]
            )
            // The pushes whose turn the source has given are still to be sent.
            #expect(try await target.value("carillon.take_rate_turn(2, 1)") == nil)
        }
    }
}
