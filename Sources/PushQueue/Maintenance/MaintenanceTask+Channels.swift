import CarillonPostgres

extension MaintenanceTask {
    /// Asks Apple to create and remove the channels that were requested.
    static let channels = MaintenanceTask(
        name: .channels,
        wait: { $0.maintenance.channelWait },
        means: .own(
            ifDue: { parts, connection throws(PostgresError) in
                if parts.channels.hasUnrecorded { return true }
                return try await parts.database.ask(connection, ChannelStatements.areDue) { try $0.bool(0, 0) }
            },
            { parts, connection throws(PostgresError) in try await parts.channels.manage(on: connection) }
        )
    )

    /// Compares the channels of all apps with Apple's lists, once a day.
    static let channelLists = MaintenanceTask(
        name: .channelLists,
        wait: { $0.maintenanceWait(for: .channelLists) },
        means: .fleet(.channels, every: { _ in nil }) { parts, connection throws(PostgresError) in
            try await parts.channels.compare(on: connection)
        }
    )
}
