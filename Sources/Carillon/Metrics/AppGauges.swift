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

    private let database: GaugeDatabase
    private var latest: (reading: Reading, readAt: MonotonicInstant)?
    /// The query under way; concurrent requests share it.
    private var look: (reading: Task<Reading, any Error>, beganAt: MonotonicInstant)?

    init(database: DatabaseSource, loop: EventLoop) {
        self.database = GaugeDatabase(database, loop: loop)
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
        guard case .success(let reading) = result else { return Reading() }
        // It shows the database as it was when the query began.
        if isFirst { latest = (reading, look.beganAt) }
        return reading
    }

    /// Ends the query under way, before the loop is stopped.
    func close() async {
        await database.close()
        _ = await look?.reading.result
    }

    private func ask() async throws -> Reading {
        Reading(
            apps: try await AppStatus.all(from: database),
            workers: try await WorkerRecord.all(from: database),
            maintenance: try await MaintenanceReport(from: database)
        )
    }
}
