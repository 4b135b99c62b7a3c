import IO
import Postgres

/// How the apps and history stand, read from the database when somebody asks for metrics, and not more often than it
/// changes.
actor AppGauges {
    struct Reading: Sendable {
        var apps: [AppStatus] = []
        var maintenance: MaintenanceStatus?
    }

    private static let lifetime = Duration.seconds(5)
    /// Whoever asks for metrics gets them without these gauges while somebody has a table locked.
    private static let settings = DatabaseScope.settings.with(["lock_timeout": "500ms", "statement_timeout": "10s"])

    private let database: DatabaseSource
    private let loop: EventLoop
    private var connection: PostgresConnection?
    private var latest: (reading: Reading, readAt: MonotonicInstant)?
    /// The look that is under way; whoever asks meanwhile waits for it too.
    private var look: Task<Reading, any Error>?

    init(database: DatabaseSource, loop: EventLoop) {
        self.database = database
        self.loop = loop
    }

    /// None when the database does not answer: then no gauge is better than an old one.
    func read() async -> Reading {
        if let latest, MonotonicInstant.now - latest.readAt < Self.lifetime { return latest.reading }
        let look = self.look ?? Task { try await ask() }
        self.look = look
        let result = await look.result
        self.look = nil
        switch result {
        case .success(let reading):
            latest = (reading, .now)
            return reading
        case .failure:
            await disconnect()
            return Reading()
        }
    }

    /// For the end: whatever look is under way ends too, before the loop may.
    func close() async {
        await disconnect()
        _ = await look?.result
        await disconnect()
    }

    private func disconnect() async {
        let connection = connection
        self.connection = nil
        await connection?.close()
    }

    private func ask() async throws -> Reading {
        let connection = try await connected()
        let apps: [AppStatus] = try await connection.values(of: AppStatus.statement)
        return Reading(apps: apps, maintenance: try await MaintenanceStatus(on: connection))
    }

    private func connected() async throws -> PostgresConnection {
        if let connection { return connection }
        let connection = try await PostgresConnection.connect(
            database,
            on: loop,
            application: "carillon metrics",
            to: .writable,
            settings: Self.settings,
            timeout: .seconds(2)
        )
        self.connection = connection
        return connection
    }
}
