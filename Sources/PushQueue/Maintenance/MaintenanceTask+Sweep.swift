import CarillonIO
import CarillonPostgres

extension MaintenanceTask {
    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    static let sweep = MaintenanceTask(
        name: .sweep,
        wait: { $0.sweepWait },
        means: .own(ifDue: { worker, _ in worker.state.mustSweep }) { worker, connection throws(PostgresError) in
            let began = MonotonicInstant.now
            defer { worker.state.sweepEnded(after: .now - began) }
            try await worker.sweep(on: connection)
        }
    )
}

extension Worker {
    fileprivate func sweep(on connection: PostgresConnection) async throws(PostgresError) {
        let floors = state.sweep
        if state.sweepsScheduled, try await promote(from: .beginning, on: connection) > 0 { dispatchBell.ring() }
        guard !floors.isEmpty else { return }
        let found = try await ask(connection, WorkerStatements.lookBelow, .lookBelow(floors)) { rows in
            try rows.indices.map { row in
                let lane = Lane(app: try rows.int32(row, "app"), number: try rows.int16(row, "lane"))
                return (lane: lane, lowest: try rows.int64(row, "lowest"))
            }
        }
        guard !found.isEmpty else { return }
        state.swept(found, at: .now)
        dispatchBell.ring()
    }
}
