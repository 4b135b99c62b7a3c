/// A clock that a case can set, in a new database: PostgreSQL's functions that read the clock are replaced. Only what the
/// server itself notes, as in pg_stat_activity, keeps the right time.
enum DatabaseClock {
    private static let functions = [
        (name: "now", volatility: "STABLE"), (name: "transaction_timestamp", volatility: "STABLE"),
        (name: "statement_timestamp", volatility: "STABLE"), (name: "clock_timestamp", volatility: "VOLATILE"),
    ]

    /// Runs before the migrations: what they create reads this clock.
    static var installation: String {
        functions.map { "ALTER FUNCTION pg_catalog.\($0.name)() RENAME TO right_\($0.name);" }.joined(separator: "\n")
            + setting(ahead: "0")
    }

    /// - Parameter interval: how much it is ahead of the right time.
    static func setting(ahead interval: String) -> String {
        functions.map { name, volatility in
            """
            CREATE OR REPLACE FUNCTION pg_catalog.\(name)() RETURNS timestamptz LANGUAGE sql \(volatility) PARALLEL SAFE
                AS $$ SELECT pg_catalog.right_\(name)() + interval '\(interval)' $$;
            """
        }.joined(separator: "\n")
    }
}

extension Scene {
    /// Sets the clock of a case on `Ground.settableClock`.
    func setClock(ahead interval: String) async throws {
        try await client.run(DatabaseClock.setting(ahead: interval))
    }
}
