import CarillonPostgres

extension MaintenanceTask {
    /// Takes over claims of workers without a row, such as claims that were locked during a take-over.
    static let orphans = MaintenanceTask(
        name: .orphans,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { context, connection throws(PostgresError) in try await context.lease.hasOrphans(connection) },
            { context, connection throws(PostgresError) in
                try await context.lease.takeOver(from: nil, on: connection)
            }
        )
    )

    /// Releases stray claims of this worker.
    static let strays = MaintenanceTask(
        name: .strays,
        wait: { $0.maintenanceWait() },
        means: .own(
            ifDue: { context, connection throws(PostgresError) in
                try await context.lease.findStrays(on: connection)
            },
            { context, connection throws(PostgresError) in try await context.lease.releaseAgedStrays(on: connection) }
        )
    )

    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    static let sweep = MaintenanceTask(
        name: .sweep,
        wait: { $0.maintenance.sweepWait },
        means: .own(ifDue: { context, _ in context.core.state.mustSweep }) {
            context,
            connection throws(PostgresError) in
            try await context.lookout.sweep(on: connection)
        }
    )
}
