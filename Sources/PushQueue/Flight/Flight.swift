import ApplePush
import IO
import Postgres

/// The life of one claim, from its plan to its end.
///
/// A value: it says what it needs next, and is told what happened. `Worker` does those steps with a database and a gateway,
/// a simulation does the same steps with models of both.
struct Flight: Sendable {
    private enum Stage {
        /// The database is asked for rows.
        case asking
        /// Waits for a turn at the app's rate; with a turn, for its time.
        case waiting(HeldClaim, RateTurn?)
        case givingBack(HeldClaim, refusals: Int)
        case delivering(HeldClaim)
        case settling(Settling)
        /// Some pushes have not ended.
        case awaitingRest(HeldClaim)
        case splitting(Int64)
        case over
    }

    let plan: ClaimPlan
    /// The number under which the claim is made: it fences what is written.
    let worker: Int64
    private var stage = Stage.asking
    /// A row of the lane that has to be cut.
    private var large: Int64?
    /// A statement that is to be tried again met a lock.
    private(set) var metLock = false
    private var pace = RetryPace()
    /// What is to be counted and told since that was taken last.
    private var news: [FlightNews] = []

    init(_ plan: ClaimPlan, claimedAs worker: Int64) {
        self.plan = plan
        self.worker = worker
    }

    /// What it needs first.
    var first: FlightStep { .claim(self.plan) }

    var app: Int32 { self.plan.lane.app }

    mutating func takeNews() -> [FlightNews] {
        defer { self.news = [] }
        return self.news
    }

    /// What it needs next.
    mutating func next(after event: FlightEvent, in state: inout WorkerState, at now: MonotonicInstant) -> FlightStep {
        switch self.stage {
        case .asking: self.asked(event, &state, now)
        case .waiting(let claim, let turn): self.waited(claim, turn, event, &state, now)
        case .givingBack(let claim, let refusals): self.gaveBack(claim, refusals, event, &state, now)
        case .delivering(let claim), .awaitingRest(let claim): self.delivered(claim, event, &state, now)
        case .settling(let settling): self.settled(settling, event, &state, now)
        case .splitting(let message): self.split(message, event, &state, now)
        case .over: .end
        }
    }

    /// The step is taken again, later where the worker still has its connection.
    private mutating func again(
        after error: PostgresError,
        _ step: FlightStep,
        _ state: inout WorkerState
    ) -> FlightStep {
        self.metLock = error.metLock
        return state.retryWait(&self.pace).map { .wait($0) } ?? step
    }

    /// A statement of another kind begins afresh.
    private mutating func enter(_ stage: Stage) {
        self.stage = stage
        self.metLock = false
        self.pace = RetryPace()
    }

    // MARK: Claiming

    private mutating func asked(
        _ event: FlightEvent,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        guard case .claimed(let answer) = event else {
            var isTooLarge = false
            if case .claimFailed(let wasTooLarge) = event { isTooLarge = wasTooLarge }
            state.claimFailed(self.plan, wasTooLarge: isTooLarge, at: now)
            self.stage = .over
            return .end
        }
        self.large = state.claimAnswered(answer, to: self.plan, at: now)
        guard let jobs = answer.jobs else { return self.finish() }
        self.news.append(.claimed(jobs: jobs.count, waits: jobs.waits))
        let claim = HeldClaim(jobs, claimedAs: self.worker, answeredAt: now)
        let isPaced = state.limits.isPaced(self.app) && !jobs.batch.isEmpty
        return isPaced ? self.lineUp(claim, &state, now) : self.depart(claim, hasTurn: true, &state, now)
    }

    // MARK: Keeping to a rate

    private mutating func lineUp(
        _ claim: HeldClaim,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        guard state.phase == .working else { return self.depart(claim, hasTurn: false, &state, now) }
        self.stage = .waiting(claim, nil)
        var route: App.Route?
        if case .known(let app) = state.limits.apps[self.app] { route = try? app.route.get() }
        return .takeTurn(pushes: claim.jobs.batch.count, by: route)
    }

    private mutating func waited(
        _ claim: HeldClaim,
        _ turn: RateTurn?,
        _ event: FlightEvent,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        switch event {
        case .turnGiven(let wait?):
            let turn = RateTurn(in: wait, from: now)
            guard wait > .zero else { return self.depart(claim, hasTurn: true, &state, now) }
            self.stage = .waiting(claim, turn)
            return .wait(wait)
        case .turnGiven(nil):
            state.foundNoTurn(for: self.app, at: now)
            return self.depart(claim, hasTurn: false, &state, now)
        case .waited:
            if let turn, !turn.isMissed(at: now) { return self.depart(claim, hasTurn: true, &state, now) }
            return self.lineUp(claim, &state, now)
        case .failed(let error):
            let step = self.lineUp(claim, &state, now)
            guard case .takeTurn = step else { return step }
            return self.again(after: error, step, &state)
        default:
            return self.depart(claim, hasTurn: false, &state, now)
        }
    }

    // MARK: Leaving

    private mutating func depart(
        _ claim: HeldClaim,
        hasTurn: Bool,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        state.departed(self.app)
        var claim = claim
        switch hasTurn ? state.departure(of: claim.jobs, claimedAs: self.worker, at: now) : .giveBack {
        case .giveBack:
            self.enter(.givingBack(claim, refusals: 0))
            return .giveBack(claim.jobs)
        case .nothingToSend:
            return self.settle(claim, Outcomes(repeating: .delivered, count: 0), hasRest: false, &state, now)
        case .send(let route, let mostAttempts):
            claim.mostAttempts = mostAttempts
            self.enter(.delivering(claim))
            return .deliver(claim.jobs, by: route)
        }
    }

    /// A claim that PostgreSQL refuses to take back stays in this worker's name, and holds up nothing: it is found as a
    /// stray and tried again, and the others have it when the worker has ended.
    private mutating func gaveBack(
        _ claim: HeldClaim,
        _ refusals: Int,
        _ event: FlightEvent,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        switch event {
        case .waited: return .giveBack(claim.jobs)
        case .failed(let error):
            let refusals = error.isTransient ? refusals : refusals + 1
            self.stage = .givingBack(claim, refusals: refusals)
            if refusals < SettlementWriting.tries { return self.again(after: error, .giveBack(claim.jobs), &state) }
        case .released: state.gaveBack(claim.jobs, at: now)
        default: break
        }
        return self.land(claim, &state)
    }

    private mutating func delivered(
        _ claim: HeldClaim,
        _ event: FlightEvent,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        guard case .delivered(let outcomes, let hasRest) = event else { return self.land(claim, &state) }
        return self.settle(claim, outcomes, hasRest: hasRest, &state, now)
    }

    // MARK: Settling

    private mutating func settle(
        _ claim: HeldClaim,
        _ outcomes: Outcomes,
        hasRest: Bool,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        if claim.isLost { return self.goOn(claim, hasRest: hasRest, &state) }
        let settlement = state.landed(claim, outcomes, at: now)
        let settling = Settling(claim, settlement, outcomes, hasRest: hasRest)
        self.enter(.settling(settling))
        return settling.write.map { .write($0) } ?? self.goOn(claim, hasRest: hasRest, &state)
    }

    private mutating func settled(
        _ settling: Settling,
        _ event: FlightEvent,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        var settling = settling
        switch event {
        case .written(let answer):
            settling.answered(answer, name: state.limits.apps.name(of: self.app))
            self.pace.succeeded()
        case .failed(let error):
            switch settling.failed(error) {
            case .triesNext: break
            case .leavesItToTheRest: return self.goOn(settling.claim, hasRest: settling.hasRest, &state)
            case .triesAgain(let stuck):
                if let stuck, state.errors.heard("ending a claim", at: now) != nil {
                    let name = state.limits.apps.name(of: self.app)
                    self.tell(.cannotEnd(app: name, message: stuck, error: error.description))
                }
                self.stage = .settling(settling)
                guard let write = settling.write else { break }
                return self.again(after: error, .write(write), &state)
            }
        case .waited: break
        case .counted:
            self.learn(settling, &state, now)
            return self.goOn(settling.claim, hasRest: settling.hasRest, &state)
        default:
            return self.goOn(settling.claim, hasRest: settling.hasRest, &state)
        }
        if let write = settling.write {
            self.stage = .settling(settling)
            return .write(write)
        }
        return self.conclude(settling, &state, now)
    }

    private mutating func conclude(
        _ settling: Settling,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        var settling = settling
        let settlement = settling.settlement
        guard
            state.settled(
                &settling.claim,
                settlement,
                settling.outcomes,
                isWritten: settling.isWritten,
                at: now
            )
        else {
            self.tell(.stale(claim: settling.claim.jobs.id))
            return self.goOn(settling.claim, hasRest: settling.hasRest, &state)
        }
        for event in settling.unrecorded { self.tell(event) }
        self.news.append(.settled(settlement, app: self.app))
        for event in state.retried(settlement, of: self.app, at: now) { self.tell(event) }
        for event in state.refused(settlement, of: settling.claim.jobs, at: now) { self.tell(event) }
        if state.isSuspect(self.app) {
            self.stage = .settling(settling)
            return .countActivity
        }
        self.learn(settling, &state, now)
        return self.goOn(settling.claim, hasRest: settling.hasRest, &state)
    }

    private mutating func learn(_ settling: Settling, _ state: inout WorkerState, _ now: MonotonicInstant) {
        if let report = state.learned(from: settling.settlement, of: settling.claim.jobs, at: now) {
            self.news.append(.reported(report))
        }
    }

    private mutating func goOn(_ claim: HeldClaim, hasRest: Bool, _ state: inout WorkerState) -> FlightStep {
        guard hasRest else { return self.land(claim, &state) }
        self.enter(.awaitingRest(claim))
        return .awaitRest
    }

    // MARK: The end

    private mutating func land(_ claim: HeldClaim, _ state: inout WorkerState) -> FlightStep {
        state.ended(claim)
        return self.finish()
    }

    private mutating func finish() -> FlightStep {
        guard let large = self.large.take() else {
            self.stage = .over
            return .end
        }
        self.enter(.splitting(large))
        return .split(large)
    }

    private mutating func split(
        _ message: Int64,
        _ event: FlightEvent,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> FlightStep {
        if case .cut(let parts?) = event {
            state.split(in: self.plan.lane, at: now)
            if parts > 0 { self.tell(.split(app: self.app, message: message, parts: parts)) }
        }
        self.stage = .over
        return .end
    }

    private mutating func tell(_ event: WorkerEvent) { self.news.append(.happened(event)) }
}
