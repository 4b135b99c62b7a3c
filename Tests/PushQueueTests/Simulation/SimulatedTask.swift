@testable import CarillonPushQueue

/// A `MaintenanceTask` of a simulated worker.
struct SimulatedTask {
    typealias Loss = SimulatedLink.Loss
    /// Calls back with the reason if it failed.
    typealias Work = (SimulatedLink, @escaping (Loss?) -> Void) -> Void
    typealias DueCheck = (SimulatedLink, @escaping (Result<Bool, Loss>) -> Void) -> Void

    /// The connection that the task uses.
    enum Means {
        case shared(Work)
        case own(ifDue: DueCheck, Work)
        /// In one worker of the fleet at a time. The interval is in microseconds.
        case fleet(every: Int64, Work)
    }

    let name: MaintenanceTask.Name
    let wait: () -> Duration?
    let means: Means
}
