import ApplePush
import CarillonIO
import CarillonPostgres

extension Worker {
    /// Looks for lanes with rows, and moves due jobs to the queue.
    func lookForWork() async {
        await watchOthers()
        await takeOverOrphans()
        while !Task.isCancelled, let connection = await database.connection() {
            var look = core.event { $0.lookBegan(at: .now) }
            let wait: Duration
            do throws(PostgresError) {
                // Pipelined, since on a busy connection each answer takes long.
                async let promotion = self.promotion(on: connection)
                let (lanes, cost) = try await self.look(on: connection)
                look.cost = cost
                look.promoted = try await promotion.get()
                wait = core.event { $0.lookEnded(look, lanes, at: .now) }
            } catch {
                database.failed(error, on: connection)
                wait = core.event { $0.failed(in: .look) }
            }
            core.dispatchBell.ring()
            guard await core.sleep(for: wait) else { return }
        }
    }

    private func promotion(on connection: PostgresConnection) async -> Result<Int, PostgresError> {
        do throws(PostgresError) {
            return .success(try await promote(on: connection))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the number of jobs that were moved.
    private func promote(on connection: PostgresConnection) async throws(PostgresError) -> Int {
        guard core.state.promotes else { return 0 }
        return try await promote(from: core.event { $0.due.start(at: .now) }, on: connection)
    }

    func promote(from start: DueFloor.Place, on connection: PostgresConnection) async throws(PostgresError) -> Int {
        let parameters: Parameters = .promote(most: 1000, after: start)
        let promotion = try await database.ask(connection, WorkerStatements.promote, parameters) {
            try PromotionAnswer($0)
        }
        core.event { $0.promoted(promotion, from: start, at: .now) }
        return promotion.rows
    }

    private func look(
        on connection: PostgresConnection
    ) async throws(PostgresError) -> (lanes: [Lane], cost: Duration) {
        let parameters: Parameters = .look(above: core.state.board.floors, over: core.state.pausedRuns)
        let (lanes, cost) = try await database.ask(connection, WorkerStatements.look, parameters) { rows in
            let last = rows.count - 1
            let lanes = try (0..<last).map { Lane(app: try rows.int32($0, .app), number: try rows.int16($0, .lane)) }
            return (lanes, Duration.microseconds(try rows.int64(last, "cost")))
        }
        let unread = core.event { $0.found(lanes) }
        try await readApps(Array(unread), on: connection)
        let readAt = MonotonicInstant.now
        let events = core.event { $0.understood(lanes, at: readAt) }
        // Excludes the wait for the answers of other statements.
        let total = cost + (MonotonicInstant.now - readAt)
        for event in events { ledger.log(event) }
        return (lanes, total)
    }
}

/// The columns of a look, by position, since it may find many lanes.
extension Rows.Column {
    fileprivate static var app: Self { .place(0) }
    fileprivate static var lane: Self { .place(1) }
}
