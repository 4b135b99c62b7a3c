import ApplePush
import CarillonIO
import CarillonPostgres

/// One claim being worked on, from its plan to its end.
///
/// A value: events go in, the next step comes out. `FlightRunner` does the steps with a database and a gateway, the simulation with
/// models of both.
struct Flight: Sendable {
    private enum Stage {
        case claiming
        /// Asks whether the pushes at these places of the batch are sent.
        case asking(HeldClaim, Question, [Int32], refusals: Int)
        /// Waits for a turn at the app's rate, or for the start of the turn it was given.
        case waiting(HeldClaim, RateLimits.Turn?)
        case releasing(HeldClaim, refusals: Int)
        case delivering(HeldClaim)
        case settling(SettlementWriting)
        case awaitingRest(HeldClaim)
        case splitting(Int64)
        case over
    }

    /// How often a statement that PostgreSQL rejects for its content is tried.
    static let tries = 3

    let plan: ClaimPlan
    /// The worker's id when it claimed, which fences what is written.
    let worker: Int64
    private var stage = Stage.claiming
    /// A row of the lane that has to be split.
    private var large: Int64?
    /// The statement to repeat has timed out waiting for a lock.
    private(set) var metLock = false
    private var backOff = BackOff.statements
    private var news: [News] = []

    init(_ plan: ClaimPlan, claimedAs worker: Int64) {
        self.plan = plan
        self.worker = worker
    }

    var first: Step { .claim(plan) }

    var app: Int32 { plan.lane.app }

    mutating func takeNews() -> [News] {
        defer { news = [] }
        return news
    }

    mutating func next(after event: Event, in state: inout WorkerState, at now: MonotonicInstant) -> Step {
        switch stage {
        case .claiming: claimed(event, &state, now)
        case .asking(let claim, let question, let places, let refusals):
            answered(claim, question, places, refusals, event, &state, now)
        case .waiting(let claim, let turn): waited(claim, turn, event, &state, now)
        case .releasing(let claim, let refusals): released(claim, refusals, event, &state, now)
        case .delivering(let claim), .awaitingRest(let claim): delivered(claim, event, &state, now)
        case .settling(let writing): settled(writing, event, &state, now)
        case .splitting(let message): split(message, event, &state, now)
        case .over: .end
        }
    }

    /// Repeats the step, after a wait if the worker is still connected.
    private mutating func again(after error: PostgresError, _ step: Step, _ state: inout WorkerState) -> Step {
        metLock = error.metLock
        return state.retryWait(&backOff).map { .wait($0) } ?? step
    }

    private mutating func enter(_ stage: Stage) {
        self.stage = stage
        resetRetries()
    }

    private mutating func resetRetries() {
        metLock = false
        backOff = .statements
    }

    // MARK: Claiming

    private mutating func claimed(_ event: Event, _ state: inout WorkerState, _ now: MonotonicInstant) -> Step {
        guard case .claimed(let answer) = event else {
            if case .claimFailed(let wasTooLarge) = event {
                state.schedule.claimFailed(plan, wasTooLarge: wasTooLarge, at: now)
            } else {
                state.schedule.claimFailed(plan, at: now)
            }
            stage = .over
            return .end
        }
        large = state.schedule.claimAnswered(answer, to: plan, of: state.apps, at: now)
        guard let jobs = answer.jobs else { return finish() }
        news.append(.claimed(jobs: jobs.count, waits: jobs.waits))
        let claim = HeldClaim(jobs, claimedAs: worker, answeredAt: now)
        return jobs.hasUpdates ? ask(.order, claim, 0, &state, now) : paceDevices(claim, &state, now)
    }

    private mutating func start(_ claim: HeldClaim, _ state: inout WorkerState, _ now: MonotonicInstant) -> Step {
        let needsTurn = state.apps.maxRate(of: app) != nil && !claim.jobs.batch.isEmpty
        return needsTurn ? waitForTurn(claim, &state, now) : proceed(claim, hasTurn: true, &state, now)
    }

    // MARK: Which pushes are sent

    /// Paces background pushes, if the app has a `max_per_device`.
    private mutating func paceDevices(
        _ claim: HeldClaim,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        guard claim.jobs.hasPaced, let most = state.apps[app]?.row.settings.maxPerDevice else {
            return start(claim, &state, now)
        }
        return ask(.pace(most: most), claim, 0, &state, now)
    }

    private mutating func ask(
        _ question: Question,
        _ claim: HeldClaim,
        _ refusals: Int,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        let places = question.places(in: claim.jobs)
        if places.isEmpty { return goOn(from: question, claim, &state, now) }
        guard state.phase == .working else { return proceed(claim, hasTurn: false, &state, now) }
        stage = .asking(claim, question, places, refusals: refusals)
        return .ask(question, claim.jobs, places)
    }

    private mutating func goOn(
        from question: Question,
        _ claim: HeldClaim,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        switch question {
        case .order: paceDevices(claim, &state, now)
        case .pace: start(claim, &state, now)
        }
    }

    /// If PostgreSQL keeps rejecting the question, the claim goes back and the app is held: nothing is sent without an answer.
    private mutating func answered(
        _ claim: HeldClaim,
        _ question: Question,
        _ places: [Int32],
        _ refusals: Int,
        _ event: Event,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        switch event {
        case .judged(let answer):
            var claim = claim
            claim.jobs.keep(places, answer)
            news.append(.superseded(pushes: question.superseded(in: answer, on: places.count), app: app))
            state.schedule.shrank(&claim)
            resetRetries()
            guard claim.jobs.count > 0 else {
                state.schedule.stoppedWaiting(app)
                return end(claim, &state)
            }
            return goOn(from: question, claim, &state, now)
        case .claimLost:
            log(.stale(claim: claim.jobs.id))
            state.schedule.stoppedWaiting(app)
            return end(claim, &state)
        case .waited: return ask(question, claim, refusals, &state, now)
        case .failed(let error):
            let refusals = error.isTransient ? refusals : refusals + 1
            guard refusals < Self.tries else {
                if let event = state.cannotAsk(question, app, error, at: now) { log(event) }
                return proceed(claim, hasTurn: false, &state, now)
            }
            let step = ask(question, claim, refusals, &state, now)
            guard case .asking = stage else { return step }
            return again(after: error, step, &state)
        default: return proceed(claim, hasTurn: false, &state, now)
        }
    }

    // MARK: Keeping to a rate

    private mutating func waitForTurn(_ claim: HeldClaim, _ state: inout WorkerState, _ now: MonotonicInstant) -> Step {
        guard state.phase == .working else { return proceed(claim, hasTurn: false, &state, now) }
        stage = .waiting(claim, nil)
        return .takeTurn(pushes: claim.jobs.batch.count, by: try? state.apps[app]?.route.get())
    }

    private mutating func waited(
        _ claim: HeldClaim,
        _ turn: RateLimits.Turn?,
        _ event: Event,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        switch event {
        case .turnGiven(let wait?):
            guard wait > .zero else { return proceed(claim, hasTurn: true, &state, now) }
            stage = .waiting(claim, RateLimits.Turn(begins: now + wait))
            return .wait(wait)
        case .turnGiven(nil):
            state.foundNoTurn(for: app, at: now)
            return proceed(claim, hasTurn: false, &state, now)
        case .waited:
            if let turn, !turn.isMissed(at: now) { return proceed(claim, hasTurn: true, &state, now) }
            return waitForTurn(claim, &state, now)
        case .failed(let error):
            let step = waitForTurn(claim, &state, now)
            guard case .takeTurn = step else { return step }
            return again(after: error, step, &state)
        default:
            return proceed(claim, hasTurn: false, &state, now)
        }
    }

    // MARK: Sending

    private mutating func proceed(
        _ claim: HeldClaim,
        hasTurn: Bool,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        state.schedule.stoppedWaiting(app)
        var claim = claim
        switch hasTurn ? state.disposition(of: claim.jobs, claimedAs: worker, at: now) : .release {
        case .release:
            enter(.releasing(claim, refusals: 0))
            return .release(claim.jobs)
        case .nothingToSend:
            return settle(claim, Outcomes(repeating: .delivered, count: 0), hasRest: false, &state, now)
        case .send(let route, let mostAttempts):
            claim.mostAttempts = mostAttempts
            enter(.delivering(claim))
            return .deliver(claim.jobs, by: route)
        }
    }

    /// If PostgreSQL keeps rejecting the release, the row of the claim stays. It is released later as a stray, or taken
    /// over once the worker has ended.
    private mutating func released(
        _ claim: HeldClaim,
        _ refusals: Int,
        _ event: Event,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        switch event {
        case .waited: return .release(claim.jobs)
        case .failed(let error):
            let refusals = error.isTransient ? refusals : refusals + 1
            stage = .releasing(claim, refusals: refusals)
            if refusals < Self.tries { return again(after: error, .release(claim.jobs), &state) }
        case .released: state.schedule.released(claim, at: now)
        default: break
        }
        return end(claim, &state)
    }

    private mutating func delivered(
        _ claim: HeldClaim,
        _ event: Event,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        guard case .delivered(let outcomes, let hasRest) = event else { return end(claim, &state) }
        return settle(claim, outcomes, hasRest: hasRest, &state, now)
    }

    // MARK: Settling

    private mutating func settle(
        _ claim: HeldClaim,
        _ outcomes: Outcomes,
        hasRest: Bool,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        if claim.isLost { return goOn(claim, hasRest: hasRest, &state) }
        let settlement = state.settlement(of: claim, outcomes, at: now)
        let writing = SettlementWriting(claim, settlement, outcomes, hasRest: hasRest)
        enter(.settling(writing))
        return writing.write.map { .write($0) } ?? goOn(claim, hasRest: hasRest, &state)
    }

    private mutating func settled(
        _ writing: SettlementWriting,
        _ event: Event,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        var writing = writing
        switch event {
        case .written(let answer):
            writing.answered(answer)
            backOff.reset()
        case .failed(let error):
            switch writing.failed(error) {
            case .triesNext: break
            case .waitsForRest: return goOn(writing.claim, hasRest: writing.hasRest, &state)
            case .triesAgain(let stuck):
                if let stuck, state.tallies.suppressed("ending a claim", at: now) != nil {
                    let name = state.apps.name(of: app)
                    log(.cannotEnd(app: name, message: stuck, error: error.description))
                }
                stage = .settling(writing)
                guard let write = writing.write else { break }
                return again(after: error, .write(write), &state)
            }
        case .waited: break
        case .counted:
            learn(writing, &state, now)
            return goOn(writing.claim, hasRest: writing.hasRest, &state)
        default:
            return goOn(writing.claim, hasRest: writing.hasRest, &state)
        }
        if let write = writing.write {
            stage = .settling(writing)
            return .write(write)
        }
        return conclude(writing, &state, now)
    }

    private mutating func conclude(
        _ writing: SettlementWriting,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        var writing = writing
        let settlement = writing.settlement
        guard writing.isWritten else {
            writing.claim.progress = .lost
            log(.stale(claim: writing.claim.jobs.id))
            return goOn(writing.claim, hasRest: writing.hasRest, &state)
        }
        state.settled(&writing.claim, settlement, writing.outcomes, at: now)
        for job in writing.unrecorded {
            let name = state.apps.name(of: app)
            log(.unrecorded(app: name, message: job.message, error: job.error, isWritten: job.isWritten))
        }
        news.append(.settled(settlement, app: app))
        for event in state.news(of: settlement, from: writing.claim.jobs, at: now) { log(event) }
        if state.tallies.isSuspect(app) {
            stage = .settling(writing)
            return .countActivity
        }
        learn(writing, &state, now)
        return goOn(writing.claim, hasRest: writing.hasRest, &state)
    }

    private mutating func learn(_ writing: SettlementWriting, _ state: inout WorkerState, _ now: MonotonicInstant) {
        if let event = state.learned(from: writing.settlement, of: writing.claim.jobs, at: now) { log(event) }
    }

    private mutating func goOn(_ claim: HeldClaim, hasRest: Bool, _ state: inout WorkerState) -> Step {
        guard hasRest else { return end(claim, &state) }
        enter(.awaitingRest(claim))
        return .awaitRest
    }

    // MARK: The end

    private mutating func end(_ claim: HeldClaim, _ state: inout WorkerState) -> Step {
        state.schedule.ended(claim)
        return finish()
    }

    private mutating func finish() -> Step {
        guard let large = large.take() else {
            stage = .over
            return .end
        }
        enter(.splitting(large))
        return .split(large)
    }

    private mutating func split(
        _ message: Int64,
        _ event: Event,
        _ state: inout WorkerState,
        _ now: MonotonicInstant
    ) -> Step {
        if case .wasSplit(let jobs?) = event {
            state.schedule.split(in: plan.lane, at: now)
            if jobs > 0 { log(.split(app: app, message: message, jobs: jobs)) }
        }
        stage = .over
        return .end
    }

    private mutating func log(_ event: WorkerEvent) { news.append(.happened(event)) }
}
