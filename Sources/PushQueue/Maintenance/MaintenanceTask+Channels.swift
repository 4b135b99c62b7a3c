import CarillonPostgres

extension MaintenanceTask {
    private static let channelsAreDue = Statement(
        "channels_due",
        """
        SELECT EXISTS (SELECT FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
            WHERE c.state IN ('requested', 'removing') AND c.next_attempt_at <= now() AND NOT a.paused)
        """
    )

    /// Asks Apple to create and remove the channels that were requested.
    static let channels = MaintenanceTask(
        name: .channels,
        wait: { $0.maintenance.channelWait },
        means: .own(
            ifDue: { tools, connection throws(PostgresError) in
                if tools.channels.hasUnrecorded { return true }
                return try await tools.database.ask(connection, channelsAreDue) { try $0.bool(0, 0) }
            },
            { tools, connection throws(PostgresError) in try await tools.channels.manage(on: connection) }
        )
    )

    /// Compares the channels of all apps with Apple's lists, once a day.
    static let channelLists = MaintenanceTask(
        name: .channelLists,
        wait: { $0.maintenance.wait(for: .channelLists) },
        means: .fleet(every: { _ in nil }) { tools, connection throws(PostgresError) in
            try await tools.channels.compare(on: connection)
        }
    )
}
