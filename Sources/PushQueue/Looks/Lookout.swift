import CarillonIO
import CarillonPostgres

/// Looks for lanes with rows, and moves due jobs to the queue. While there is nothing to do, it has `SleepKeeper` ask for sleep.
final class Lookout {
    private let context: WorkerContext
    private let database: WorkerDatabase
    private let sleepKeeper: SleepKeeper
    private let apps: AppWatch
    /// Rings when the next run is due.
    private var alarm: TimerToken?

    init(_ context: WorkerContext, _ database: WorkerDatabase, _ sleepKeeper: SleepKeeper, _ apps: AppWatch) {
        self.context = context
        self.database = database
        self.sleepKeeper = sleepKeeper
        self.apps = apps
    }

    func keepLooking() async {
        context.lookBell.ring()
        for await _ in context.lookBell.rings {
            if let alarm = alarm.take() { context.loop.cancel(alarm) }
            guard !Task.isCancelled, let connection = await database.connection() else { return }
            let wait = await takeSteps(on: connection)
            let asleepSince = context.state.sleep.asleepSince
            context.count { $0.asleepSince = asleepSince }
            let bell = context.lookBell
            alarm = context.loop.schedule(at: .now + wait) { bell.ring() }
        }
    }

    /// Returns the wait before the next run.
    private func takeSteps(on connection: PostgresConnection) async -> Duration {
        var run = context.event { LookRun(in: &$0, at: .now) }
        while true {
            do throws(PostgresError) {
                var wait: Duration?
                var foundWork = false
                switch run.step {
                case .refresh: try await apps.readChanges(on: connection)
                case .look: wait = try await look(on: connection)
                case .ask: (wait, foundWork) = try await sleepKeeper.ask(on: connection)
                case .wake: try await sleepKeeper.wake(on: connection)
                case .clear: try await sleepKeeper.clear(on: connection)
                case .over(let wait): return wait
                }
                context.event { run.succeeded(wait, foundWork: foundWork, in: &$0) }
            } catch {
                database.failed(error, on: connection)
                context.event { run.failed(error, in: &$0, at: .now) }
            }
            if run.mayClaim { context.dispatchBell.ring() }
        }
    }

    /// Returns the wait before the next look.
    private func look(on connection: PostgresConnection) async throws(PostgresError) -> Duration {
        var look = context.event { $0.lookBegan(at: .now) }
        let paused = context.state.apps.pausedRanges
        let parameters = LookStatements.parameters(look.range, over: paused, dueAfter: look.start)
        let rows = try await database.ask(connection, LookStatements.above, parameters) { try LookRows($0) }
        look.cost = rows.cost
        look.end = rows.end
        let lanes = rows.lanes
        let start = look.startOfPromotion(isDue: rows.isDue)
        // Pipelined, since on a busy connection each statement takes long.
        async let promotion = Self.promotion(from: start, on: connection)
        let understood = await understand(lanes, in: &look, on: connection)
        let promoted = await promotion
        if case .failure(let error) = understood, case .failure = promoted {
            // The other one counts for the pace.
            database.failed(error, on: connection, isPaced: true)
        }
        if let rows = try promoted.get() { context.event { $0.promoted(rows, in: &look, at: .now) } }
        try understood.get()
        return context.event { $0.lookEnded(look, lanes, at: .now) }
    }

    /// Reads the apps of lanes that have rows.
    private func understand(
        _ lanes: [Lane],
        in look: inout WorkerState.Look,
        on connection: PostgresConnection
    ) async -> Result<Void, PostgresError> {
        do throws(PostgresError) {
            let unread = context.event { $0.found(lanes, at: .now) }
            if !unread.isEmpty { context.dispatchBell.ring() }
            try await apps.read(Array(unread), on: connection)
            let readAt = MonotonicInstant.now
            let events = context.event { $0.understood(lanes, at: readAt) }
            // Excludes the time of other statements.
            look.cost = (look.cost ?? .zero) + (MonotonicInstant.now - readAt)
            for event in events { context.log(event) }
            return .success(())
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
            let parameters = PromotionRows.parameters(maxRows: 1000, after: start)
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
        context.event { $0.schedule.swept(found, at: .now) }
        context.dispatchBell.ring()
    }
}
