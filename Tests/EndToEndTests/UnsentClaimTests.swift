import ApplePush
import CarillonPushQueue
import TestSupport
import Testing

/// Claims of which nothing was sent.
@Suite(.queue) struct UnsentClaimTests {
    private static func message(of app: Int, to token: String) -> String {
        "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (\(app), '{\(token)}', '{\"aps\":{}}')"
    }

    @Test
    func `a claim that PostgreSQL refuses to take back delays nothing, and is sent once that is mended`() async throws {
        try await queue.addApp("other", topic: "org.example.app")
        // The app's timetable is full, so that what is claimed goes back.
        try await queue.database.run(
            """
            UPDATE carillon.apps SET max_rate = 100 WHERE name = 'app';
            INSERT INTO carillon.rates (app_id, next_at) VALUES (1, now() + interval '50 seconds');
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF pg_catalog.current_query() LIKE '%carillon.release(%' THEN RAISE EXCEPTION 'not now'; END IF;
                RETURN OLD;
            END $$;
            CREATE TRIGGER refuse BEFORE DELETE ON carillon.inflight FOR EACH ROW EXECUTE FUNCTION public.refuse();
            \(Self.message(of: 1, to: "aa01"))
            """
        )
        let backend = RecordedBackend()
        let worker = queue.worker(backend) { $0.maxInFlight = 1 }
        let report = try await queue.running(worker) {
            try await queue.loop.eventually("the claim was refused") { worker.counters[.databaseErrors] > 0 }
            try await queue.database.run(Self.message(of: 2, to: "bb01"))
            try await queue.loop.eventually("the other app's push was sent") {
                backend.sent.map(\.token) == ["bb01"]
            }
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight WHERE app_id = 1") == 1)
            worker.drain()
        }
        #expect(!report.isClean)
        // As when its lease is over.
        try await queue.database.run(
            """
            DROP TRIGGER refuse ON carillon.inflight;
            DELETE FROM carillon.rates;
            UPDATE carillon.workers SET heartbeat_at = now() - interval '3 s', lease_until = now() - interval '2 s'
            """
        )
        try await queue.drain(backend)
        #expect(backend.sent.map(\.token) == ["bb01", "aa01"])
        #expect(
            try await queue.database.rows("SELECT app_id, sent FROM carillon.results ORDER BY 1") == ["(1,1)", "(2,1)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight") == 0)
    }
}
