import CarillonPostgres
import TestSupport
import Testing

@Suite struct SessionSettingsTests {
    @Test func `a setting is sent only to servers that support it`() {
        let settings: SessionSettings = ["lock_timeout": "1s", "transaction_timeout": "0"]
        #expect(settings.known(to: 160_009).pairs.map(\.name) == ["lock_timeout"])
        #expect(settings.known(to: 170_000).pairs.map(\.name) == ["lock_timeout", "transaction_timeout"])
    }

    @Test func `a session has its own timeouts, whatever the database sets, on every version`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            try await connection.script(
                """
                DO $$ DECLARE name text; BEGIN
                    FOR name IN SELECT s.name FROM pg_settings s WHERE s.name IN ('transaction_timeout', 'idle_session_timeout')
                    LOOP EXECUTE format('ALTER DATABASE %I SET %I = ''1h''', current_database(), name); END LOOP;
                END $$
                """
            )
            let session = try await PostgresConnection.connect(
                url,
                settings: ["transaction_timeout": "0", "idle_session_timeout": "0"]
            )
            let own = Statement(
                "own",
                "SELECT s.setting FROM pg_settings s WHERE s.name IN ('transaction_timeout', 'idle_session_timeout')"
            )
            let values: [String] = try await session.values(of: own)
            #expect(Set(values) == ["0"])
            await session.close()
        }
    }
}
