import CarillonPostgres

extension MaintenanceTask {
    /// Takes over claims of workers without a row, such as claims that were locked during a takeover.
    static let orphans = MaintenanceTask(
        name: .orphans,
        wait: { $0.maintenance.wait() },
        means: .own(
            ifDue: { tools, connection throws(PostgresError) in try await tools.lease.hasOrphans(connection) },
            { tools, connection throws(PostgresError) in
                try await tools.lease.takeOver(from: nil, on: connection)
            }
        )
    )

    /// Releases stray claims of this worker.
    static let strays = MaintenanceTask(
        name: .strays,
        wait: { $0.maintenance.wait() },
        means: .own(
            ifDue: { tools, connection throws(PostgresError) in
                try await tools.lease.findStrays(on: connection)
            },
            { tools, connection throws(PostgresError) in try await tools.lease.releaseAgedStrays(on: connection) }
        )
    )

    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    static let sweep = MaintenanceTask(
        name: .sweep,
        wait: { $0.maintenance.sweepWait },
        means: .own(ifDue: { tools, _ in tools.context.state.mustSweep }) {
            tools,
            connection throws(PostgresError) in
            try await tools.lookout.sweep(on: connection)
        }
    )
}
