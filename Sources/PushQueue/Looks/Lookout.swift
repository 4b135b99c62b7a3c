import ApplePush
import CarillonIO
import CarillonPostgres

/// Looks for lanes with rows, and moves due jobs to the queue.
final class Lookout {
    private let context: WorkerContext
    private let database: WorkerDatabase
    private let apps: AppWatch

    init(_ context: WorkerContext, _ database: WorkerDatabase, _ apps: AppWatch) {
        self.context = context
        self.database = database
        self.apps = apps
    }

    func keepLooking() async {
        while !Task.isCancelled, let connection = await database.connection() {
            let wait: Duration
            do throws(PostgresError) {
                wait = try await look(on: connection)
            } catch {
                database.failed(error, on: connection)
                wait = context.event { $0.failed(in: .look) }
            }
            context.dispatchBell.ring()
            guard await context.sleep(for: wait) else { return }
        }
    }

    /// Returns the wait before the next look.
    private func look(on connection: PostgresConnection) async throws(PostgresError) -> Duration {
        var look = context.event { $0.lookBegan(at: .now) }
        let start = look.start
        // Pipelined, since on a busy connection each answer takes long.
        async let promotion = Self.promotion(from: start, on: connection)
        let found = await lanes(on: connection)
        let promoted = await promotion
        if case .failure(let error) = found, case .failure = promoted {
            // The other one counts for the pace.
            database.failed(error, on: connection, isPaced: true)
        }
        if let rows = try promoted.get() { context.event { $0.promoted(rows, in: &look, at: .now) } }
        let (lanes, cost) = try found.get()
        look.cost = cost
        return context.event { $0.lookEnded(look, lanes, at: .now) }
    }

    /// Finds lanes with rows, and reads their apps.
    private func lanes(
        on connection: PostgresConnection
    ) async -> Result<(lanes: [Lane], cost: Duration), PostgresError> {
        do throws(PostgresError) {
            let parameters = LookStatements.parameters(
                above: context.state.schedule.floors,
                over: context.state.apps.pausedRanges
            )
            let (lanes, cost) = try await database.ask(connection, LookStatements.above, parameters) {
                try LookStatements.lanes($0)
            }
            let unread = context.event { $0.apps.found(lanes) }
            try await apps.read(Array(unread), on: connection)
            let readAt = MonotonicInstant.now
            let events = context.event { $0.understood(lanes, at: readAt) }
            // Excludes the wait for the answers of other statements.
            let total = cost + (MonotonicInstant.now - readAt)
            for event in events { context.log(event) }
            return .success((lanes, total))
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter start: If nil, the worker moves no jobs.
    private static func promotion(
        from start: DueFloor.Position?,
        on connection: PostgresConnection
    ) async -> Result<PromotionRows?, PostgresError> {
        guard let start else { return .success(nil) }
        do throws(PostgresError) {
            let parameters = PromotionRows.parameters(most: 1000, after: start)
            return .success(try await connection.query(PromotionRows.statement, parameters) { try PromotionRows($0) })
        } catch {
            return .failure(error)
        }
    }

    // MARK: Below the floors

    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    func sweep(on connection: PostgresConnection) async throws(PostgresError) {
        let began = MonotonicInstant.now
        defer { context.event { $0.maintenance.swept(in: .now - began) } }
        let floors = context.state.floorsToSweep
        if context.state.sweepsScheduled,
            let rows = try await Self.promotion(from: .beginning, on: connection).get()
        {
            context.event { $0.promoted(rows, from: .beginning, at: .now) }
            if rows.rows > 0 { context.dispatchBell.ring() }
        }
        guard !floors.isEmpty else { return }
        let parameters = LookStatements.parameters(below: floors)
        let found = try await database.ask(connection, LookStatements.below, parameters) { try LookStatements.rows($0) }
        guard !found.isEmpty else { return }
        context.event { $0.schedule.returned(found, at: .now) }
        context.dispatchBell.ring()
    }
}
