/// One run of a task that one worker of the fleet does at a time. A value like `Flight`.
struct FleetRun: Sendable {
    enum Step: Sendable {
        /// Ask on the shared connection whether the task is due.
        case ask
        /// Open a connection of its own.
        case connect
        /// Take the task, unless another worker has.
        case take
        case work
        /// Record that the task is done.
        case end
        case over
    }

    private let task: MaintenanceTask.Name
    private(set) var step: Step

    init(_ task: MaintenanceTask.Name, in state: WorkerState) {
        self.task = task
        step = state.phase == .working ? .ask : .over
    }

    /// The step was done, with the answer if it has one.
    mutating func succeeded(_ answer: Bool = true, in state: inout WorkerState) {
        switch step {
        case .ask where answer: step = .connect
        case .connect:
            state.maintenance.began(task)
            step = .take
        case .take where answer: step = .work
        // A worker that ends may leave the task unfinished, for another to take.
        case .work where state.phase == .working: step = .end
        case .take, .end:
            state.maintenance.ended(task)
            step = .over
        case .ask, .work, .over: step = .over
        }
    }

    mutating func failed() { step = .over }
}
