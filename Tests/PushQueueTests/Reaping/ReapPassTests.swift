import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

@Suite struct ReapPassTests {
    private static func batch(_ state: ReapBatch.State, deleted: Int = 0, faults: [String] = []) -> ReapBatch {
        ReapBatch(state, next: "(,1,2)", app: "shop", handled: deleted, deleted: deleted, faults: faults)
    }

    @Test func `the wait after a batch is longer than the batch, up to a limit`() {
        var pass = ReapPass()
        #expect(pass.answered(Self.batch(.more), after: .milliseconds(10)) == .milliseconds(40))
        #expect(pass.answered(Self.batch(.more), after: .seconds(60)) == ReapPass.longestRest)
        #expect(pass.answered(Self.batch(.busy), after: .zero) == ReapPass.waitForOthers)
        #expect(!pass.tally.isComplete)
        #expect(pass.answered(Self.batch(.over), after: .zero) == nil)
        #expect(pass.tally.isComplete)
    }

    @Test func `a pass counts deleted tokens by app, and each fault once`() {
        var pass = ReapPass()
        for _ in 0..<2 { _ = pass.answered(Self.batch(.more, deleted: 5, faults: ["devices: no"]), after: .zero) }
        #expect(pass.tally.deleted == ["shop": 10])
        #expect(pass.tally.total == 10 && pass.tally.handled == 10)
        #expect(pass.tally.faults == ["devices: no"])
    }

    @Test(.demo) func `a trigger that never ends stops only its own table, and no other app`() async throws {
        try await database.run(
            """
            INSERT INTO carillon.apps (name) VALUES ('other');
            CREATE TABLE devices (token text PRIMARY KEY, updated timestamptz);
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            INSERT INTO devices VALUES ('aa', '2020-01-01Z');
            INSERT INTO carillon.tokens (app_id, token, last_update)
            SELECT a.id, 'aa', '2020-01-01Z' FROM carillon.apps a;
            SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated');
            INSERT INTO carillon.feedback (app_id, token, unregistered_at) SELECT a.id, 'aa', '2020-01-02Z' FROM carillon.apps a;
            CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                LOOP
                    BEGIN
                        PERFORM pg_sleep(1000);
                    EXCEPTION
                        WHEN query_canceled OR OTHERS THEN NULL;
                    END;
                END LOOP;
            END $$;
            CREATE TRIGGER linger BEFORE DELETE ON devices FOR EACH ROW EXECUTE FUNCTION linger()
            """
        )
        var tally = ReapTally()
        for _ in 0..<9 where !tally.isComplete {
            // A pass whose batch is ended fails.
            tally = (try? await database.session { try await Self.pass(on: $0.connection, besides: database) }) ?? tally
        }
        #expect(tally.isComplete && tally.faults.count == 1, "\(tally)")
        #expect(tally.faults.first?.hasPrefix("public.devices: did not end") == true, "\(tally)")
        #expect(try await database.value("SELECT count(*) FROM carillon.tokens") == "0")
        #expect(try await database.value("SELECT count(*) FROM devices") == "1")
        // Once repaired, it catches up.
        try await database.run("DROP TRIGGER linger ON devices")
        try await database.run("SELECT carillon.watch_tokens('demo', 'devices', 'token', 'updated')")
        #expect(try await database.value("carillon.reap()") == "1")
    }

    private static func pass(on connection: PostgresConnection, besides database: TestDatabase) async throws
        -> ReapTally
    {
        var pass = ReapPass(longestBatch: .seconds(1))
        try await pass.run(on: connection, endingOn: database.connection, TestLoop.shared, whileTrue: { true })
        return pass.tally
    }
}
