import CarillonPostgres

extension MaintenanceTask {
    /// Takes over claims of workers without a row, such as claims that were locked during a take-over.
    static let orphans = MaintenanceTask(
        name: .orphans,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { parts, connection throws(PostgresError) in try await parts.lease.hasOrphans(connection) },
            { parts, connection throws(PostgresError) in
                try await parts.lease.takeOver(from: nil, on: connection)
            }
        )
    )

    /// Releases stray claims of this worker.
    static let strays = MaintenanceTask(
        name: .strays,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { parts, connection throws(PostgresError) in
                try await parts.lease.findStrays(on: connection)
            },
            { parts, connection throws(PostgresError) in try await parts.lease.releaseAgedStrays(on: connection) }
        )
    )

    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    static let sweep = MaintenanceTask(
        name: .sweep,
        wait: { $0.maintenance.sweepWait },
        means: .own(ifDue: { parts, _ in parts.context.state.mustSweep }) {
            parts,
            connection throws(PostgresError) in
            try await parts.lookout.sweep(on: connection)
        }
    )
}
