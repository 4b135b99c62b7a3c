import Testing

@testable import CarillonPushQueue

@Suite struct FleetRunTests {
    private var state = WorkerState(WorkerOptions(), seed: 1)

    /// The steps that follow from these answers.
    private mutating func steps(_ answers: [Bool]) -> String {
        state.maintenance.began(.feedback)
        var run = FleetRun(.feedback)
        var steps = ["\(run.step)"]
        for answer in answers {
            run.succeeded(answer, in: &state)
            steps.append("\(run.step)")
        }
        return steps.joined(separator: " ")
    }

    @Test mutating func `a task that is due is taken, done and ended`() {
        #expect(steps([true, true, true]) == "take work end over")
        #expect(state.maintenance.unfinished.isEmpty)
    }

    @Test mutating func `a task that another worker takes is not done`() {
        #expect(steps([false]) == "take over")
        #expect(state.maintenance.unfinished.isEmpty)
    }

    @Test mutating func `a task that fails counts as unfinished until a later run finishes it`() {
        #expect(steps([true]) == "take work")
        #expect(state.maintenance.unfinished == [.feedback])
        _ = steps([true, true, true])
        #expect(state.maintenance.unfinished.isEmpty)
    }

    @Test mutating func `a worker that ends begins no task, and leaves its task to another`() {
        var run = FleetRun(.feedback)
        run.succeeded(in: &state)
        #expect(FleetRun.mayBegin(in: state))
        _ = state.drainRequested()
        run.succeeded(in: &state)
        #expect("\(run.step)" == "over")
        #expect(!FleetRun.mayBegin(in: state))
    }
}
