import CarillonIO

/// One claim being worked on, from its plan to its end.
///
/// A value: events go in, the next step comes out. `FlightRunner` does the steps with a database and a gateway, the simulation with
/// models of both.
struct Flight: Sendable {
    /// Indirect, as is `Step`: stored inline, each copy would enlarge the task of the claim, which lives as long as its pushes are in
    /// flight.
    private indirect enum Stage {
        case claiming
        /// The claim has jobs.
        case handling(ClaimHandler)
        case splitting(Int64)
        case over
    }

    let plan: ClaimPlan
    /// The worker's id when it claimed, which fences what is written.
    let worker: Int64
    private var stage = Stage.claiming
    /// A row of the lane that has to be split.
    private var large: Int64?
    private var notes: [Note] = []

    init(_ plan: ClaimPlan, claimedAs worker: Int64) {
        self.plan = plan
        self.worker = worker
    }

    var first: Step { .claim(plan) }

    var app: Int32 { plan.lane.app }

    /// The statement to repeat has timed out waiting for a lock.
    var timedOut: Bool {
        if case .handling(let handler) = stage { handler.timedOut } else { false }
    }

    mutating func takeNotes() -> [Note] {
        defer { notes = [] }
        return notes
    }

    // Inlined, its copies would enlarge that task too.
    @inline(never)
    mutating func next(after event: Event, in state: inout WorkerState, at now: MonotonicInstant) -> Step {
        switch stage {
        case .claiming: return claimed(event, &state, at: now)
        case .handling(var handler):
            // The stage must not share the handler's arrays while it changes them.
            stage = .over
            return handle(&handler, event, &state, at: now)
        case .splitting(let message):
            if case .wasSplit(let jobs?) = event {
                state.schedule.found([plan.lane], of: state.apps, at: now)
                if jobs > 0 { notes.append(.happened(.split(app: app, message: message, jobs: jobs))) }
            } else {
                state.refusals.splitFailed(in: plan.lane, at: now)
            }
            stage = .over
            return .end
        case .over: return .end
        }
    }

    private mutating func claimed(_ event: Event, _ state: inout WorkerState, at now: MonotonicInstant) -> Step {
        guard case .claimed(let rows) = event else {
            let fault = if case .claimFailed(let fault) = event { fault } else { ClaimFault.connection }
            state.claimFailed(plan, fault, at: now)
            stage = .over
            return .end
        }
        large = state.claimReturned(rows, to: plan, at: now)
        guard let jobs = rows.jobs else { return splitLarge() }
        notes.append(.claimed(jobs: jobs.count, waits: jobs.waits))
        var handler = ClaimHandler(UnsettledClaim(jobs, claimedAs: worker, returnedAt: now))
        return handle(&handler, event, &state, at: now)
    }

    private mutating func handle(
        _ handler: inout ClaimHandler,
        _ event: Event,
        _ state: inout WorkerState,
        at now: MonotonicInstant
    ) -> Step {
        let step = handler.next(after: event, in: &state, at: now)
        notes += handler.takeNotes()
        guard let step else { return splitLarge() }
        stage = .handling(handler)
        return step
    }

    private mutating func splitLarge() -> Step {
        guard let large = large.take() else {
            stage = .over
            return .end
        }
        stage = .splitting(large)
        return .split(large)
    }
}
