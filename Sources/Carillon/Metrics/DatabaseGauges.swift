import CarillonIO
import CarillonPostgres
import CarillonSchema

/// The gauges of apps, workers and maintenance. They are read from the database when metrics are requested, at most as often as
/// they change.
actor DatabaseGauges {
    struct Reading: Sendable {
        var apps: [AppStatus] = []
        var workers: [WorkerRecord] = []
        var maintenance: MaintenanceReport?
        var webhooks: [WebhookRecord] = []
    }

    private static let lifetime = Duration.seconds(1)

    /// Its connection is not the worker's, so that neither waits for the statements of the other.
    private static let group = ServiceDatabase.Group(
        name: "reading",
        connections: 1,
        // Prometheus gives up after ten seconds. For the same reason a statement whose answer was lost is not sent again.
        statementTimeout: .seconds(5),
        // If a table is locked, metrics are served without these gauges.
        settings: SessionSettings.unhurried.with(["lock_timeout": "500ms"]),
        connectionTimeout: .seconds(2)
    )

    private let database: ServiceRunner
    private var latest: (reading: Reading, readAt: MonotonicInstant)?
    /// The query under way; concurrent requests share it.
    private var reading: (task: Task<Reading, any Error>, beganAt: MonotonicInstant)?

    init(database: DatabaseSource, loop: EventLoop) {
        let service = ServiceDatabase(
            database,
            application: "carillon metrics",
            groups: [Self.group],
            loop: loop,
            observer: { _ in }  // the worker says when its database is away
        )
        self.database = ServiceRunner(service, Self.group)
    }

    /// Empty if the database does not answer: no gauge is better than an outdated one.
    func read(at now: MonotonicInstant = .now) async -> Reading {
        if let latest, now - latest.readAt < Self.lifetime { return latest.reading }
        let reading = self.reading ?? (task: Task { try await Reading(from: database) }, beganAt: now)
        self.reading = reading
        let result = await reading.task.result
        // Of the requests that share it, the first one to get here ends it.
        let isFirst = self.reading?.task == reading.task
        if isFirst { self.reading = nil }
        guard case .success(let gauges) = result else { return Reading() }
        // It shows the database as it was when the query began.
        if isFirst { latest = (gauges, reading.beganAt) }
        return gauges
    }

    /// Ends the query under way, before the loop is stopped.
    func close() async {
        await database.close()
        _ = await reading?.task.result
    }
}

extension DatabaseGauges.Reading {
    init(from database: some StatementRunner) async throws {
        apps = try await AppStatus.all(from: database)
        workers = try await WorkerRecord.all(from: database)
        maintenance = try await MaintenanceReport(from: database)
        webhooks = try await WebhookRecord.all(from: database)
    }
}
