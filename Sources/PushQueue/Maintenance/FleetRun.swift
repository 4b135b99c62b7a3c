/// One run of a task that one worker of the fleet does at a time, from when the connection for it is open. A value like `Flight`.
struct FleetRun: Sendable {
    enum Step: Sendable {
        /// Take the task, unless another worker has.
        case take
        case work
        /// Record that the task is done.
        case end
        case over
    }

    private let task: MaintenanceTask.Name
    private(set) var step = Step.take

    init(_ task: MaintenanceTask.Name) { self.task = task }

    /// Whether a run may begin, if the task is due.
    static func mayBegin(in state: WorkerState) -> Bool { state.phase == .working }

    /// The step was done; `isTaken` says whether this worker has the task now. A run whose step fails goes no further.
    mutating func succeeded(_ isTaken: Bool = true, in state: inout WorkerState) {
        switch step {
        case .take where isTaken: step = .work
        // A worker that ends may leave the task unfinished, for another to take.
        case .work where state.phase == .working: step = .end
        case .take, .end:
            state.maintenance.finished(task)
            step = .over
        case .work, .over: step = .over
        }
    }
}
