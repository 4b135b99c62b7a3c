import ApplePush
import CarillonPostgres

/// What a worker does at intervals.
struct MaintenanceTask: Sendable {
    /// SQL has the raw values of tasks of the fleet, and of others for which sleepers wake.
    enum Name: String, CaseIterable, Sendable {
        case counts, sweep, orphans, strays, maintain, feedback, feedbackLists, connections, channels
        case channelLists = "channel_lists"

        /// Tasks with the same purpose are done one at a time: only one may read a feedback list.
        var purpose: WorkerDatabase.Purpose { .maintenance(self == .feedbackLists ? .feedback : self) }
    }

    typealias Work = @Sendable (MaintenanceTools, PostgresConnection) async throws(PostgresError) -> Void
    typealias DueCheck = @Sendable (MaintenanceTools, PostgresConnection) async throws(PostgresError) -> Bool

    /// The connection that the task uses.
    enum Means: Sendable {
        /// The shared connection: the task is short, and waits at most 100 ms for a lock.
        case shared(Work)
        /// A connection of its own: the task may take long or wait for a lock. Whether it is due is asked on the shared one.
        case own(ifDue: DueCheck, Work)
        /// A connection of its own, in one worker of the fleet at a time. If `every` returns nil, the interval is the row's.
        case fleet(every: @Sendable (WorkerOptions) -> Duration?, Work)
        /// No database.
        case none(@Sendable (MaintenanceTools) async -> Void)
    }

    let name: Name
    /// The wait before each run. If nil, the task ends.
    let wait: @Sendable (inout WorkerState) -> Duration?
    let means: Means

    /// Writes the counts of pushes. A worker that is killed loses those of the last second.
    static let counts = MaintenanceTask(
        name: .counts,
        wait: { _ in .seconds(1) },
        means: .shared { tools, connection throws(PostgresError) in
            try await tools.pushCounts.write(on: connection)
        }
    )

    /// Closes idle connections to gateways.
    static let connections = MaintenanceTask(
        name: .connections,
        wait: { $0.maintenance.wait() },
        means: .none { tools in await tools.context.backend.outdate(idle: tools.context.options.idleTimeout) }
    )

    static let all = [
        counts, sweep, orphans, strays, maintain, feedback, feedbackLists, connections, channels, channelLists,
    ]
}
