import CarillonIO
import CarillonPostgres
import CarillonSchema

/// The gauges of apps, workers and history. They are read from the database when metrics are requested, at most as often as they
/// change.
actor AppGauges {
    struct Reading: Sendable {
        var apps: [AppStatus] = []
        var workers: [WorkerRecord] = []
        var maintenance: MaintenanceReport?
    }

    private static let lifetime = Duration.seconds(1)
    /// Prometheus gives up after ten seconds.
    private static let statementTimeout = Duration.seconds(5)
    /// If a table is locked, metrics are served without these gauges.
    private static let settings = SessionSettings.unhurried.with(["lock_timeout": "500ms"]).limited(
        to: statementTimeout
    )

    private let database: DatabaseSource
    private let loop: EventLoop
    private var connection: PostgresConnection?
    private var latest: (reading: Reading, readAt: MonotonicInstant)?
    /// The query under way; concurrent requests share it.
    private var look: (reading: Task<Reading, any Error>, beganAt: MonotonicInstant)?

    init(database: DatabaseSource, loop: EventLoop) {
        self.database = database
        self.loop = loop
    }

    /// Empty if the database does not answer: no gauge is better than an outdated one.
    func read(at now: MonotonicInstant = .now) async -> Reading {
        if let latest, now - latest.readAt < Self.lifetime { return latest.reading }
        let look = self.look ?? (reading: Task { try await ask() }, beganAt: now)
        self.look = look
        let result = await look.reading.result
        // Of the requests that share it, the first one to get here ends it.
        let isFirst = self.look?.reading == look.reading
        if isFirst { self.look = nil }
        switch result {
        case .success(let reading):
            // It shows the database as it was when the query began.
            if isFirst { latest = (reading, look.beganAt) }
            return reading
        case .failure:
            if isFirst { await disconnect() }
            return Reading()
        }
    }

    /// Waits for the query under way, before the loop is stopped.
    func close() async {
        await disconnect()
        _ = await look?.reading.result
        await disconnect()
    }

    private func disconnect() async {
        let connection = connection
        self.connection = nil
        await connection?.close()
    }

    private func ask() async throws -> Reading {
        let connection = try await connected()
        let apps = try await AppStatus.all(from: connection)
        return Reading(
            apps: apps,
            workers: try await WorkerRecord.all(from: connection),
            maintenance: try await MaintenanceReport(from: connection)
        )
    }

    private func connected() async throws -> PostgresConnection {
        if let connection { return connection }
        let connection = try await PostgresConnection.connect(
            database,
            on: loop,
            application: "carillon metrics",
            to: .writable,
            settings: Self.settings,
            timeout: .seconds(2),
            silence: .beyond(Self.statementTimeout)
        )
        self.connection = connection
        return connection
    }
}
