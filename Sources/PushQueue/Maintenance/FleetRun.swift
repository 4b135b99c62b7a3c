/// One run of a task that exactly one worker of the fleet does at a time.
///
/// A value like `Flight`: `Worker` does its steps with a database, the simulation with a model of it.
struct FleetRun: Sendable {
    enum Step: Sendable {
        /// Ask over the shared connection whether the task is due.
        case ask
        /// Open a connection of its own.
        case connect
        /// Take the task. Another worker may be faster.
        case take
        case work
        /// Write that the task is done.
        case end
        case over
    }

    private let task: MaintenanceTask.Name
    private(set) var step: Step

    /// A worker that is about to end begins nothing.
    init(_ task: MaintenanceTask.Name, in state: WorkerState) {
        self.task = task
        step = state.phase == .working ? .ask : .over
    }

    /// The step was done. Without an answer, or with the answer yes, the next one follows.
    mutating func succeeded(_ answer: Bool = true, in state: inout WorkerState) {
        switch step {
        case .ask where answer: step = .connect
        case .connect:
            state.began(task)
            step = .take
        case .take where answer: step = .work
        // What a worker leaves unfinished when it ends, another takes.
        case .work where state.phase == .working: step = .end
        case .take, .end:
            state.ended(task)
            step = .over
        case .ask, .work, .over: step = .over
        }
    }

    /// The step failed. A task that was begun counts as failed.
    mutating func failed() { step = .over }
}
