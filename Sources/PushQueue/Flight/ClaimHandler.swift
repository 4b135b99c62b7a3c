import ApplePush
import CarillonIO
import CarillonPostgres

/// What is done with the jobs of a claim: ask which pushes are sent, keep to the app's rate, send, and settle. `next` returns nil
/// when the claim has ended.
struct ClaimHandler: Sendable {
    typealias Step = Flight.Step

    private enum Stage {
        case new
        /// Asks whether the pushes at these positions of the batch are sent.
        case asking(Flight.Question, [Int32])
        /// Asks for a turn at the app's rate.
        case takingTurn
        case awaitingTurn(RateLimits.Turn)
        case releasing
        case delivering
        case settling(SettlementWriting)
    }

    private var claim: UnsettledClaim
    private var stage = Stage.new
    private var retries = StatementRetries()
    /// When the event that is handled took place.
    private var now: MonotonicInstant
    private var notes: [Flight.Note] = []

    init(_ claim: UnsettledClaim) {
        self.claim = claim
        now = claim.returnedAt
    }

    private var app: Int32 { claim.jobs.app }

    /// The statement to repeat has timed out waiting for a lock.
    var timedOut: Bool { retries.timedOut }

    mutating func takeNotes() -> [Flight.Note] {
        defer { notes = [] }
        return notes
    }

    mutating func next(after event: Flight.Event, in state: inout WorkerState, at now: MonotonicInstant) -> Step? {
        self.now = now
        switch stage {
        case .new: return claim.jobs.hasUpdates ? ask(.order, &state) : paceDevices(&state)
        case .asking(let question, let positions): return answered(question, on: positions, event, &state)
        case .takingTurn: return turnTaken(event, &state)
        case .awaitingTurn(let turn): return waited(for: turn, event, &state)
        case .releasing: return released(event, &state)
        case .delivering:
            guard case .delivered(let outcomes, let hasRemainder) = event else { return end(&state) }
            return settle(outcomes, hasRemainder: hasRemainder, &state)
        case .settling(let writing): return settled(writing, event, &state)
        }
    }

    /// Enters the next stage, with retries of its own.
    private mutating func enter(_ stage: Stage) {
        self.stage = stage
        retries = StatementRetries()
    }

    /// Repeats the step, after a wait if the worker is still connected.
    private mutating func again(_ step: Step, _ state: inout WorkerState) -> Step {
        retries.wait(&state).map { .wait($0) } ?? step
    }

    /// Takes a step that is due, perhaps after a wait: PostgreSQL may refuse such statements. An event `waited` leads here again.
    private mutating func take(_ step: Step, _ kind: RefusedStatementPace.Kind, _ state: inout WorkerState) -> Step {
        retries.wait(before: kind, of: app, &state, at: now).map { .wait($0) } ?? step
    }

    private mutating func log(_ event: WorkerEvent) { notes.append(.happened(event)) }

    private mutating func end(_ state: inout WorkerState) -> Step? {
        state.claimEnded(claim)
        return nil
    }

    // MARK: Which pushes are sent

    /// Paces background pushes, if the app has a `max_per_device`.
    private mutating func paceDevices(_ state: inout WorkerState) -> Step? {
        guard claim.jobs.hasPaced, let maxPerDevice = state.apps[app]?.row.settings.maxPerDevice else {
            return keepToRate(&state)
        }
        return ask(.pace(max: maxPerDevice), &state)
    }

    private mutating func ask(_ question: Flight.Question, _ state: inout WorkerState) -> Step? {
        let positions = question.positions(in: claim.jobs)
        if positions.isEmpty { return goOn(from: question, &state) }
        guard state.phase == .working else { return release(&state) }
        enter(.asking(question, positions))
        return take(.ask(question, claim.jobs, positions), .question, &state)
    }

    private mutating func goOn(from question: Flight.Question, _ state: inout WorkerState) -> Step? {
        switch question {
        case .order: paceDevices(&state)
        case .pace: keepToRate(&state)
        }
    }

    private mutating func answered(
        _ question: Flight.Question,
        on positions: [Int32],
        _ event: Flight.Event,
        _ state: inout WorkerState
    ) -> Step? {
        switch event {
        case .decided(let decided):
            retries.succeeded(.question, &state)
            claim.jobs.keep(positions, decided.decisions)
            notes.append(.superseded(pushes: decided.superseded, app: app))
            state.schedule.shrank(&claim)
            guard claim.jobs.count > 0 else {
                state.schedule.stoppedWaiting(app)
                return end(&state)
            }
            return goOn(from: question, &state)
        case .claimLost:
            log(.stale(claim: claim.jobs.id))
            state.schedule.stoppedWaiting(app)
            return end(&state)
        default:
            let step = Step.ask(question, claim.jobs, positions)
            return askAgain(step, .question, to: question.purpose, after: event, &state)
        }
    }

    /// Repeats a question that was not answered. Nothing is sent without an answer: if PostgreSQL keeps refusing the question, the
    /// claim goes back, and the app is held.
    private mutating func askAgain(
        _ step: Step,
        _ kind: RefusedStatementPace.Kind,
        to purpose: String,
        after event: Flight.Event,
        _ state: inout WorkerState
    ) -> Step? {
        if case .failed(let error) = event {
            retries.failed(kind, with: error, &state, at: now)
            guard retries.mayRepeat else {
                let hold = Hold(.database, "PostgreSQL cannot \(purpose): \(error.message)")
                if let event = state.hold(app, for: hold, at: now) { log(event) }
                return release(&state)
            }
        }
        guard state.phase == .working else { return release(&state) }
        switch event {
        case .failed: return again(step, &state)
        case .waited: return take(step, kind, &state)
        default: return release(&state)
        }
    }

    // MARK: Keeping to a rate

    private mutating func keepToRate(_ state: inout WorkerState) -> Step? {
        let needsTurn = state.apps.maxRate(of: app) != nil && !claim.jobs.batch.isEmpty
        return needsTurn ? takeTurn(&state) : send(&state)
    }

    private mutating func takeTurn(_ state: inout WorkerState) -> Step? {
        guard state.phase == .working else { return release(&state) }
        enter(.takingTurn)
        return take(turnStep(state), .turn, &state)
    }

    private func turnStep(_ state: WorkerState) -> Step {
        .takeTurn(pushes: claim.jobs.batch.count, by: state.apps[app]?.route(in: claim.lane))
    }

    private mutating func turnTaken(_ event: Flight.Event, _ state: inout WorkerState) -> Step? {
        guard case .turnGiven(let wait) = event else {
            return askAgain(turnStep(state), .turn, to: "space out the app's pushes", after: event, &state)
        }
        retries.succeeded(.turn, &state)
        guard let wait else {
            state.schedule.foundNoTurn(for: app, at: now)
            return release(&state)
        }
        guard wait > .zero else { return send(&state) }
        enter(.awaitingTurn(RateLimits.Turn(begins: now + wait)))
        return .wait(wait)
    }

    private mutating func waited(
        for turn: RateLimits.Turn,
        _ event: Flight.Event,
        _ state: inout WorkerState
    ) -> Step? {
        guard case .waited = event else { return release(&state) }
        return turn.isMissed(at: now) ? takeTurn(&state) : send(&state)
    }

    // MARK: Sending

    private mutating func send(_ state: inout WorkerState) -> Step? {
        switch state.disposition(of: claim.jobs, claimedAs: claim.worker, at: now) {
        case .release: return release(&state)
        case .nothingToSend:
            state.schedule.stoppedWaiting(app)
            return settle(Outcomes(repeating: .accepted, count: 0), hasRemainder: false, &state)
        case .send(let route, let maxAttempts):
            state.schedule.stoppedWaiting(app)
            claim.maxAttempts = maxAttempts
            claim.route = route
            enter(.delivering)
            return .deliver(claim.jobs, by: route)
        }
    }

    private mutating func release(_ state: inout WorkerState) -> Step? {
        state.schedule.stoppedWaiting(app)
        enter(.releasing)
        return take(.release(claim.jobs), .release, &state)
    }

    /// If PostgreSQL keeps refusing the release, the row of the claim stays. It is released later as a stray, or taken
    /// over once the worker has ended.
    private mutating func released(_ event: Flight.Event, _ state: inout WorkerState) -> Step? {
        switch event {
        case .waited: return take(.release(claim.jobs), .release, &state)
        case .failed(let error):
            retries.failed(.release, with: error, &state, at: now)
            if retries.mayRepeat { return again(.release(claim.jobs), &state) }
        case .released:
            retries.succeeded(.release, &state)
            state.schedule.released(claim, at: now)
        default: break
        }
        return end(&state)
    }

    // MARK: Settling

    private mutating func settle(_ outcomes: Outcomes, hasRemainder: Bool, _ state: inout WorkerState) -> Step? {
        if case .lost = claim.progress { return awaitRemainder(hasRemainder, &state) }
        claim.hold = state.hold(shownBy: outcomes, at: now)
        let settlement = state.settlement(of: claim, outcomes, at: now)
        let writing = SettlementWriting(claim, settlement, outcomes, hasRemainder: hasRemainder)
        enter(.settling(writing))
        return writeNextOrConclude(writing, &state)
    }

    private mutating func writeNextOrConclude(_ writing: SettlementWriting, _ state: inout WorkerState) -> Step? {
        if writing.isOver { return conclude(writing, &state) }
        stage = .settling(writing)
        return take(.write(writing), .settlement, &state)
    }

    private mutating func settled(
        _ writing: SettlementWriting,
        _ event: Flight.Event,
        _ state: inout WorkerState
    ) -> Step? {
        var writing = writing
        switch event {
        case .written(let effect):
            if retries.isTry, writing.writesOutcomes(effect) { state.triedSettlementWritten(of: app) }
            writing.callEnded(effect)
            retries.succeeded(.settlement, &state)
        case .waited: break
        case .failed(let error):
            retries.failed(.settlement, with: error, &state, at: now)
            if error.isRefusal { state.refusals.settlementRefused(of: app, wasTry: retries.isTry, at: now) }
            switch writing.callFailed(with: error) {
            case .writeNext: break
            case .awaitRemainder: return awaitRemainder(writing.hasRemainder, &state)
            case .writeAgain(let stuck):
                if stuck != nil { state.stuck(&claim) }
                if let stuck, state.logLimits.suppressed("ending a claim", at: now) != nil {
                    let name = state.apps.name(of: app)
                    log(.cannotEnd(app: name, message: stuck, error: error.description))
                }
                stage = .settling(writing)
                return again(.write(writing), &state)
            }
        case .counted: return learn(writing, &state)
        default: return awaitRemainder(writing.hasRemainder, &state)
        }
        return writeNextOrConclude(writing, &state)
    }

    private mutating func conclude(_ writing: SettlementWriting, _ state: inout WorkerState) -> Step? {
        guard writing.isWritten else {
            claim.progress = .lost
            log(.stale(claim: claim.jobs.id))
            return awaitRemainder(writing.hasRemainder, &state)
        }
        let settlement = writing.settlement
        state.settled(&claim, settlement, writing.outcomes, at: now)
        for job in writing.unrecorded {
            let name = state.apps.name(of: app)
            log(.unrecorded(app: name, message: job.message, error: job.error, isWritten: job.isWritten))
        }
        notes.append(.settled(settlement, app: app))
        let events = state.logLimits.events(of: settlement, from: claim.jobs, by: state.apps[app]?.name, at: now)
        for event in events { log(event) }
        guard state.unwrittenCounts.isSuspect(app) else { return learn(writing, &state) }
        stage = .settling(writing)
        return .writeCounts
    }

    private mutating func learn(_ writing: SettlementWriting, _ state: inout WorkerState) -> Step? {
        if let event = state.updateHold(after: writing.settlement, of: claim, at: now) { log(event) }
        return awaitRemainder(writing.hasRemainder, &state)
    }

    private mutating func awaitRemainder(_ hasRemainder: Bool, _ state: inout WorkerState) -> Step? {
        guard hasRemainder else { return end(&state) }
        enter(.delivering)
        return .awaitRemainder
    }
}
