import IO
import Postgres

/// What may take long, or wait for somebody's lock: it goes over a connection of its own, opened for it and closed after
/// it, one of a kind at a time. Claims and settlements share the worker's connection, and must not stand behind it.
extension Worker {
    enum Errand: Hashable {
        case chore
        /// May take minutes, in which others go on.
        case feedback
        case takeOver
        case notes
        /// Not an errand: the way round the shared connection, see `Worker+Detour`.
        case detour
    }

    /// Does nothing while another errand of the kind is under way, or without a database: errands come again.
    func run(
        _ errand: Errand = .chore,
        _ work: (PostgresConnection) async throws(PostgresError) -> Void
    ) async {
        guard !self.errands.contains(errand), self.connection != nil, self.state.phase != .over else { return }
        self.errands.insert(errand)
        do throws(PostgresError) {
            let connection = try await self.connect(WorkerStatements.errandSettings)
            self.errandConnections[errand] = connection
            // Told to end while it was connecting.
            if Task.isCancelled || self.state.phase == .over { await connection.close() }
            try await work(connection)
        } catch {
            // At the end of the worker its connection is closed whatever it is doing.
            if !Task.isCancelled || error.code != .closed { self.complain(of: error) }
        }
        // Nobody else begins one before the set says so.
        await self.errandConnections.removeValue(forKey: errand)?.close()
        self.errands.remove(errand)
    }

    /// Cuts a message that is too large to be claimed as it is.
    func split(_ message: Int64, of lane: Lane) async -> FlightEvent {
        var parts: Int64?
        await self.run { connection throws(PostgresError) in
            let parameters: Parameters = .split(message, of: lane, size: self.state.cutSize(of: lane.app))
            do throws(PostgresError) {
                parts = try await self.ask(connection, WorkerStatements.split, parameters) { try $0.int64(0, 0) }
            } catch {
                guard error.isAboutSize else { throw error }
                // It cannot be read, so nobody can ever send it.
                try await connection.execute(WorkerStatements.discard, .discard(message, of: lane))
                parts = 0
                self.complain(of: error)
            }
        }
        return .cut(parts: parts.map { Int($0) })
    }

    /// Looks, again and again, for rows that no claim sees since they lie below the floor of their lane, and for jobs that
    /// are due and lie before the place where looking for them begins.
    func sweep() async {
        var cost = Duration.zero
        while await self.sleep(for: WorkerState.sweepWait(after: cost)) {
            let floors = self.state.sweep
            let began = MonotonicInstant.now
            defer { cost = .now - began }
            let promotes = self.state.sweepsScheduled
            guard !floors.isEmpty || promotes else { continue }
            await self.run { connection throws(PostgresError) in
                if promotes, try await self.promote(from: .beginning, on: connection) > 0 { self.dispatchBell.ring() }
                guard !floors.isEmpty else { return }
                let found = try await self.ask(connection, WorkerStatements.lookBelow, .lookBelow(floors)) { rows in
                    try rows.indices.map { row in
                        let lane = Lane(app: try rows.int32(row, 0), number: try rows.int16(row, 1))
                        return (lane: lane, lowest: try rows.int64(row, 2))
                    }
                }
                guard !found.isEmpty else { return }
                self.state.swept(found, at: .now)
                self.dispatchBell.ring()
            }
        }
    }
}
