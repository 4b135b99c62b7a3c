import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    static let sweep = MaintenanceTask(
        name: .sweep,
        wait: { $0.sweepWait },
        means: .own(ifDue: { worker, _ in worker.core.state.mustSweep }) { worker, connection throws(PostgresError) in
            let began = MonotonicInstant.now
            defer { worker.core.event { $0.sweepEnded(after: .now - began) } }
            try await worker.sweep(on: connection)
        }
    )
}

extension Worker {
    fileprivate func sweep(on connection: PostgresConnection) async throws(PostgresError) {
        let floors = core.state.sweep
        if core.state.sweepsScheduled, try await promote(from: .beginning, on: connection) > 0 {
            core.dispatchBell.ring()
        }
        guard !floors.isEmpty else { return }
        let found = try await database.ask(connection, WorkerStatements.lookBelow, .lookBelow(floors)) { rows in
            try rows.indices.map { row in
                let lane = Lane(app: try rows.int32(row, "app"), number: try rows.int16(row, "lane"))
                return (lane: lane, lowest: try rows.int64(row, "lowest"))
            }
        }
        guard !found.isEmpty else { return }
        core.event { $0.swept(found, at: .now) }
        core.dispatchBell.ring()
    }
}
