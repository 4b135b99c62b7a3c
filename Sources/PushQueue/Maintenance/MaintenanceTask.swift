import IO
import Postgres

/// What a worker does again and again beside sending: when, and with what. A new one is a file like those beside this one,
/// and a line in `all`.
struct MaintenanceTask: Sendable {
    enum Name: String, CaseIterable, Sendable {
        case counts
        case sweep
        case orphans
        case strays
        case history
        case feedback
        case connections
    }

    typealias Work = @Sendable (isolated Worker, PostgresConnection) async throws(PostgresError) -> Void
    typealias Look = @Sendable (isolated Worker, PostgresConnection) async throws(PostgresError) -> Bool

    /// What it is done with.
    enum Means: Sendable {
        /// The connection that all work shares: it takes a moment, and waits for no lock.
        case shared(Work)
        /// A connection of its own, where it may take long, or wait for somebody's lock. It is opened only if there is
        /// something to do, as far as the shared connection tells.
        case own(ifDue: Look, Work)
        /// The same, by one worker of the fleet at a time, as often as that says; nil: as often as the row says.
        case held(FleetHold, every: @Sendable (WorkerOptions) -> Duration?, Work)
        /// No database.
        case none(@Sendable (isolated Worker) async -> Void)
    }

    /// One of that name is done at a time.
    let name: Name
    /// How long to wait before it is done, again and again; nil: never more.
    let wait: @Sendable (inout WorkerState) -> Duration?
    let means: Means

    static let all: [MaintenanceTask] = [
        .counts, .sweep, .orphans, .strays, .history, .feedback, .feedbackLists, .connections,
    ]
}
