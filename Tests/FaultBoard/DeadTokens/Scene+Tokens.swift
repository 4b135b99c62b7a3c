import CarillonPostgres
import TestSupport
import Testing

/// Device tokens and their feedback.
extension Scene {
    /// Flags for frequent passes.
    static let reaping = ["--feedback-interval", "200ms"]
    static let neverReaping = ["--feedback-interval", "0s"]

    /// Registers device tokens that many seconds ago.
    func register(_ tokens: [String], ago seconds: Int = 86_400) async throws {
        for chunk in stride(from: 0, to: tokens.count, by: 10_000) {
            let some = tokens[chunk..<min(chunk + 10_000, tokens.count)].joined(separator: ",")
            try await client.run(
                """
                INSERT INTO carillon.tokens (app_id, token, last_update)
                SELECT 1, t, now() - interval '\(seconds) s' FROM unnest('{\(some)}'::text[]) t
                ON CONFLICT (app_id, token) DO UPDATE SET last_update = excluded.last_update
                """
            )
        }
    }

    /// Registers tokens again, just now.
    func registerAgain(_ tokens: [String]) async throws {
        let some = tokens.joined(separator: ",")
        try await client.run("SELECT carillon.register_token('\(Self.app)', t) FROM unnest('{\(some)}'::text[]) t")
    }

    /// Adds feedback that device tokens are dead as of now.
    func bury(_ tokens: [String]) async throws {
        try await client.run(
            """
            INSERT INTO carillon.feedback (app_id, token, unregistered_at)
            SELECT 1, t, now() FROM unnest('{\(tokens.joined(separator: ","))}'::text[]) t
            """
        )
    }

    /// The tokens that are registered, in order.
    func registered() async throws -> [String] {
        try await client.query("SELECT t.token FROM carillon.tokens t ORDER BY t.token") { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }
    }

    /// Waits until that many rows of feedback were written, and all are handled.
    func feedbackIsHandled(_ count: Int) async throws {
        try await eventually("\(count) rows of feedback are handled") {
            try await client.text(
                "SELECT (count(*), count(*) FILTER (WHERE f.handled_at IS NULL)) FROM carillon.feedback f"
            ) == "(\(count),0)"
        }
    }

    /// A table of the app's own with all tokens that are registered, whose rows take long to delete.
    func watchSlowTable() async throws {
        try await client.run(
            """
            CREATE TABLE devices (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), push_token text, seen timestamptz);
            CREATE INDEX ON devices (push_token);
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM count(*) FROM generate_series(1, 20000);
                RETURN OLD;
            END $$;
            CREATE TRIGGER dawdle BEFORE DELETE ON devices FOR EACH ROW EXECUTE FUNCTION dawdle();
            GRANT SELECT, DELETE ON devices TO carillon_reaper;
            SELECT carillon.watch_tokens('\(Self.app)', 'devices', 'push_token', 'seen')
            """
        )
        try await refillSlowTable()
    }

    func refillSlowTable() async throws {
        try await client.run(
            """
            INSERT INTO devices (push_token, seen)
            SELECT t.token, t.last_update FROM carillon.tokens t WHERE t.last_update < now() - interval '1 hour'
            """
        )
    }

    /// Waits until a pass has deleted something and is within a batch.
    func isInThePassing(of tokens: Int) async throws {
        try await eventually("a pass is under way") {
            try await client.number(
                """
                SELECT count(*) FROM pg_stat_activity a WHERE a.datname = current_database() AND a.state = 'active'
                    AND a.query LIKE '%carillon.reap_batch%' AND a.pid <> pg_backend_pid()
                    AND (SELECT count(*) FROM carillon.tokens) < \(tokens)
                """
            ) == 1
        }
    }
}
