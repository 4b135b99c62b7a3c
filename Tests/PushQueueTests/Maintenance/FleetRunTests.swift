import Testing

@testable import CarillonPushQueue

@Suite struct FleetRunTests {
    private var state = WorkerState(WorkerOptions(), seed: 1)

    /// The steps that follow from these answers; nil: the step fails.
    private mutating func steps(_ answers: [Bool?]) -> String {
        var run = FleetRun(.feedback, in: state)
        var steps = ["\(run.step)"]
        for answer in answers {
            if let answer { run.succeeded(answer, in: &state) } else { run.failed() }
            steps.append("\(run.step)")
        }
        return steps.joined(separator: " ")
    }

    @Test mutating func `a task that is due is taken, done and ended`() {
        #expect(steps([true, true, true, true, true]) == "ask connect take work end over")
        #expect(state.maintenance.begun.isEmpty)
    }

    @Test mutating func `a task that is not due, or that another worker takes, is not done`() {
        #expect(steps([false]) == "ask over")
        #expect(steps([true, true, false]) == "ask connect take over")
        #expect(state.maintenance.begun.isEmpty)
    }

    @Test mutating func `a task that fails counts as begun until a later run ends it`() {
        #expect(steps([true, true, true, nil]) == "ask connect take work over")
        #expect(state.maintenance.begun == [.feedback])
        _ = steps([true, true, true, true, true])
        #expect(state.maintenance.begun.isEmpty)
    }

    @Test mutating func `a worker that ends begins no task, and leaves its task to another`() {
        var run = FleetRun(.feedback, in: state)
        for _ in 0..<3 { run.succeeded(in: &state) }
        _ = state.drainRequested()
        run.succeeded(in: &state)
        #expect("\(run.step)" == "over")
        #expect(steps([]) == "over")
    }
}
