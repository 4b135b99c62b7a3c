import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonSchema
import Testing

@testable import CarillonPushQueue

/// What a worker decides, told what happened and when, without a database, a gateway or a clock.
@Suite struct WorkerStateTests {
    let now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    let first = Lane(app: 1, number: 1)
    /// Its app has a `max_rate` of 40 a second.
    let second = Lane(app: 2, number: 1)

    /// A worker that is connected and registered as number 7, knows its apps, and has a lease of 15 seconds.
    func begin(_ change: (inout WorkerOptions) -> Void = { _ in }) throws -> WorkerState {
        var options = WorkerOptions()
        options.maxInFlight = 480
        change(&options)
        var state = WorkerState(options, seed: 1, apps: try SimulatedApp.directory.get())
        state.reconnection.connected(at: now)
        state.lease.registered(as: 7, askedAt: now)
        _ = state.lease.saw([], at: now)
        return state
    }

    /// Such a worker that has found rows in these lanes.
    func begin(with lanes: [Lane], _ change: (inout WorkerOptions) -> Void = { _ in }) throws -> WorkerState {
        var state = try begin(change)
        _ = state.apps.found(lanes)
        _ = state.understood(lanes, at: now)
        return state
    }

    func plans(_ state: inout WorkerState, at now: MonotonicInstant) -> [ClaimPlan] {
        var plans: [ClaimPlan] = []
        while let plan = state.nextClaim(at: now) { plans.append(plan) }
        return plans
    }

    func plan(_ state: inout WorkerState, at now: MonotonicInstant) throws -> ClaimPlan {
        let plan = state.nextClaim(at: now)
        return try #require(plan)
    }

    /// An answer of as many one-token jobs as the plan asks for; `more` says of the row behind them.
    func answer(to plan: ClaimPlan, rows: Int? = nil, more: Int? = nil, claim: Int64 = 1) -> ClaimRows {
        let rows = rows ?? Int(plan.pushes)
        let jobs = (0..<rows).map { ModelJob(id: Int64($0 + 1), app: plan.lane.app, tokens: ["aa"]) }
        let held = ModelClaim(id: claim, worker: 7, app: plan.lane.app, jobs: jobs, claimedAt: 0, isQuarantined: false)
        let next = more.map { ModelJob(id: 1000, tokens: (0..<$0).map { _ in "bb" }) }
        return ClaimRows(rows > 0 ? held : nil, next: next, lane: plan.lane)
    }

    /// Claims from the lane and sends all of it; the claim is in flight.
    func claim(_ state: inout WorkerState, at now: MonotonicInstant, rows: Int? = nil) throws -> UnsettledClaim {
        let plan = try plan(&state, at: now)
        let answer = self.answer(to: plan, rows: rows)
        _ = state.claimReturned(answer, to: plan, at: now)
        var claim = UnsettledClaim(try #require(answer.jobs), claimedAs: state.lease.id, returnedAt: now)
        claim.route = try state.apps[plan.lane.app]?.route.get()
        return claim
    }

    /// The claim comes back with that outcome for all its pushes, and is settled.
    func end(
        _ flight: UnsettledClaim,
        _ outcome: Outcome,
        in state: inout WorkerState,
        at now: MonotonicInstant
    ) -> WorkerEvent? {
        var flight = flight
        let outcomes = Outcomes(repeating: outcome, count: flight.jobs.batch.count)
        flight.hold = state.hold(shownBy: outcomes, at: now)
        let settlement = state.settlement(of: flight, outcomes, at: now)
        state.settled(&flight, settlement, outcomes, at: now)
        let event = state.updateHold(after: settlement, of: flight, at: now)
        state.claimEnded(flight)
        return event
    }

    // MARK: The lease

    @Test func `without a lease nothing is claimed`() throws {
        var state = try begin(with: [first])
        state.lease.declaredDead()
        var plan = state.nextClaim(at: now)
        #expect(plan == nil)
        state.lease.registered(as: 8, askedAt: now)
        plan = state.nextClaim(at: now)
        #expect(plan != nil)
    }

    @Test func `with an expired lease nothing is claimed until it is renewed`() throws {
        var state = try begin(with: [first])
        let late = now + .milliseconds(14_500)
        var plan = state.nextClaim(at: late)
        #expect(plan == nil)
        state.renewed(workersAlive: 1, askedAt: late)
        plan = state.nextClaim(at: late)
        #expect(plan != nil)
    }

    @Test func `claimed jobs are not sent after the lease has expired, nor under an earlier id`() throws {
        var state = try begin(with: [first])
        let jobs = try claim(&state, at: self.now).jobs
        func goes(_ worker: Int64, at now: MonotonicInstant) -> Bool {
            if case .send = state.disposition(of: jobs, claimedAs: worker, at: now) { true } else { false }
        }
        #expect(goes(7, at: self.now))
        #expect(!goes(7, at: self.now + .seconds(15)))
        state.lease.declaredDead()
        state.lease.registered(as: 8, askedAt: self.now)
        #expect(!goes(7, at: self.now))
    }

    @Test func `claims are taken over only from workers whose heartbeat has not changed for their lease`() throws {
        var state = try begin()
        let still = HeartbeatState.Sighting(worker: 1, beat: 5, lease: .seconds(15))
        for second in 0..<15 {
            let now = self.now + .seconds(second)
            state.renewed(workersAlive: 3, askedAt: now)
            let alive = HeartbeatState.Sighting(worker: 2, beat: Int64(second / 3), lease: .seconds(15))
            let dead = state.lease.saw([still, alive], at: now)
            #expect(dead.isEmpty)
        }
        let alive = HeartbeatState.Sighting(worker: 2, beat: 5, lease: .seconds(15))
        let dead = state.lease.saw([still, alive], at: self.now + .seconds(15))
        #expect(dead.map(\.worker) == [1])
    }

    @Test func `while its own heartbeats fail a worker declares no other dead, and then waits for a lease`() throws {
        var state = try begin()
        let other = HeartbeatState.Sighting(worker: 1, beat: 5, lease: .seconds(15))
        let early = [0, 20].flatMap { state.lease.saw([other], at: now + .seconds($0)) }
        #expect(early.isEmpty)
        for second in stride(from: 20, to: 35, by: 3) {
            state.renewed(workersAlive: 2, askedAt: now + .seconds(second))
            let dead = state.lease.saw([other], at: now + .seconds(second))
            #expect(dead.isEmpty)
        }
        state.renewed(workersAlive: 2, askedAt: now + .seconds(35))
        let dead = state.lease.saw([other], at: now + .seconds(35))
        #expect(dead.map(\.worker) == [1])
    }

    @Test func `a lease that had expired when its answer came is asked for again at once`() throws {
        var state = try begin()
        #expect(state.lease.heartbeatWait(at: now) == .seconds(3))
        state.renewed(workersAlive: 1, askedAt: now)
        #expect(state.lease.heartbeatWait(at: now + .seconds(28)) == .zero)
    }

    @Test func `with once a worker waits for another that may have died`() throws {
        var state = try begin { $0.once = true }
        state.maintenance.ended(.channels)
        func looks(at now: MonotonicInstant) -> Bool {
            let look = state.lookBegan(at: now)
            _ = state.lookEnded(look, [], at: now)
            return state.isDone
        }
        let silent = HeartbeatState.Sighting(worker: 1, beat: 5, lease: .seconds(15), looksDead: true)
        _ = state.lease.saw([silent], at: self.now)
        let isDone = looks(at: self.now)
        _ = state.lease.saw([], at: self.now + .seconds(16))
        let isDoneThen = looks(at: self.now + .seconds(16))
        #expect(!isDone && isDoneThen)
    }

    @Test func `pushes withheld by a lost lease do not count against the app`() throws {
        var state = try begin(with: [first])
        let flight = try claim(&state, at: now)
        let event = end(flight, Outcome(.safe), in: &state, at: now + .seconds(15))
        #expect(event == nil)
        #expect(state.holds.all.isEmpty)
    }

    @Test func `without a connection nothing is claimed or tried again`() throws {
        var state = try begin(with: [first])
        state.reconnection.disconnected(at: now, isOwnFault: false)
        let plan = state.nextClaim(at: now)
        var pace = BackOff.statements
        let wait = state.retryWait(&pace)
        #expect(plan == nil)
        #expect(wait == nil)
    }

    // MARK: Apps

    @Test func `nothing is claimed from a paused app until it is resumed`() throws {
        var state = try begin(with: [first])
        _ = state.read([SimulatedApp.row(1, isPaused: true)], of: [1])
        var plans = self.plans(&state, at: now)
        #expect(plans.isEmpty)
        _ = state.read([SimulatedApp.row(1)], of: [1])
        plans = self.plans(&state, at: now)
        #expect(!plans.isEmpty)
    }

    @Test func `a refused credential holds its app and no other, and is recorded in its row`() throws {
        var state = try begin(with: [first])
        let flight = try claim(&state, at: now)
        let refused = Outcome(.rejected, status: 403, reason: try #require(Reason(name: "BadCertificate")))
        _ = end(flight, refused, in: &state, at: now)
        #expect(state.notes.take().statuses == [.rejected])
        _ = state.understood([first, second], at: now)
        let plans = self.plans(&state, at: now)
        #expect(plans.map(\.lane) == [second])
    }

    @Test func `a held app is tried with one small claim, and an answer ends the hold`() throws {
        var state = try begin(with: [first])
        let flight = try claim(&state, at: now)
        _ = end(flight, Outcome(.safe), in: &state, at: now)
        #expect(state.holds.isHeld(1))
        let later = now + .seconds(2)
        state.renewed(workersAlive: 1, askedAt: later)
        _ = state.understood([first], at: later)
        let probe = try claim(&state, at: later)
        #expect(probe.pushes <= 10)
        _ = state.understood([first], at: later)
        let others = plans(&state, at: later)
        #expect(others.isEmpty, "one at a time")
        _ = state.notes.take()
        _ = end(probe, .accepted, in: &state, at: later)
        #expect(state.notes.take().statuses == [.ok])
        #expect(!state.holds.isHeld(1))
    }

    @Test func `pushes whose outcome is unknown end no hold`() throws {
        var state = try begin(with: [first])
        _ = end(try claim(&state, at: now), Outcome(.safe), in: &state, at: now)
        _ = end(try claim(&state, at: now + .seconds(2)), Outcome(.unknown), in: &state, at: now + .seconds(2))
        #expect(state.holds.isHeld(1))
    }

    @Test func `a change of its route and its removal end the hold of an app, in the worker and in the table`() throws {
        for change in [[SimulatedApp.row(1, gateway: "localhost:1")], []] {
            var state = try begin(with: [first])
            _ = end(try claim(&state, at: now), Outcome(.safe), in: &state, at: now)
            #expect(state.holds.all.map(\.app) == [1])
            _ = state.notes.take()
            let events = state.read(change, of: [1]).events
            #expect(events.map(\.kind) == [.holdEnded] && state.holds.all.isEmpty)
            let notes = state.notes.take()
            #expect(notes.contains { if case .holdOutdated(app: 1) = $0 { true } else { false } })
        }
    }

    @Test(arguments: [Outcome(.safe), .accepted])
    func `outcomes of an earlier route neither hold the app nor show that it can send`(outcome: Outcome) throws {
        var state = try begin(with: [first])
        let late = try claim(&state, at: now)
        if outcome == .accepted {
            _ = end(try claim(&state, at: now), Outcome(.safe), in: &state, at: now)
            #expect(state.holds.isHeld(1))
        }
        _ = state.read([SimulatedApp.row(1, gateway: "localhost:1")], of: [1])
        let wasOnProbation = state.holds.isOnProbation(1)
        #expect(end(late, outcome, in: &state, at: now) == nil)
        #expect(!state.holds.isHeld(1) && state.holds.isOnProbation(1) == wasOnProbation)
    }

    @Test func `a note about a credential is no change of it`() throws {
        var state = try begin(with: [first])
        _ = end(try claim(&state, at: now), Outcome(.safe), in: &state, at: now)
        // The row has another version, because a worker has written its status.
        var row = SimulatedApp.row(1)
        row.version = 2
        #expect(state.read([row], of: [1]).events.isEmpty && state.holds.isHeld(1))
        row.credentialSince = 1
        #expect(state.read([row], of: [1]).events.map(\.kind) == [.holdEnded])
    }

    @Test func `an app without a route is logged once, and not claimed from`() throws {
        var state = try begin()
        let broken = SimulatedApp.row(1, gateway: "no gateway:at all")
        _ = state.read([broken], of: [1])
        _ = state.apps.found([first])
        let events = [state.understood([first], at: now), state.understood([first], at: now)]
        #expect(events.map(\.count) == [1, 0])
        let plans = self.plans(&state, at: now)
        #expect(plans.isEmpty)
    }

    @Test func `an app with a rate has two small claims waiting for their turns`() throws {
        var state = try begin(with: [self.second])
        state.renewed(workersAlive: 2, askedAt: now)
        _ = state.understood([self.second], at: now)
        let first = try plan(&state, at: now)
        // A tenth of a second at 40 a second.
        #expect(first.pushes == 4)
        _ = state.claimReturned(answer(to: first, more: 1, claim: 1), to: first, at: now)
        let second = try plan(&state, at: now)
        _ = state.claimReturned(answer(to: second, more: 1, claim: 2), to: second, at: now)
        let third = state.nextClaim(at: now)
        #expect(third == nil)
        state.schedule.stoppedWaiting(self.second.app)
        let later = state.nextClaim(at: now)
        #expect(later?.pushes == 4)
    }

    @Test func `rows with more pushes than a turn are split`() throws {
        var state = try begin(with: [second])
        _ = state.understood([second], at: now)
        let next = state.nextClaim(at: now)
        let plan = try #require(next)
        let large = state.claimReturned(answer(to: plan, more: 5, claim: 1), to: plan, at: now)
        #expect(large != nil)
        #expect(state.schedule.jobSize(at: state.apps.maxRate(of: second.app)) == 4)
    }

    // MARK: Due jobs

    @Test func `jobs are moved to the queue when some are due, and then until a promotion has found none`() throws {
        var state = try begin()
        var look = state.lookBegan(at: now)
        #expect(look.startOfPromotion(isDue: false) == nil)
        #expect(look.startOfPromotion(isDue: true) == .beginning)
        let moved = PromotionRows.Promotion(lane: first, lowest: 1, rows: 3)
        for (promotions, followed) in [([moved], true), ([], false)] {
            state.promoted(PromotionRows(promotions: promotions), in: &look, at: now)
            look = state.lookBegan(at: now)
            #expect((look.startOfPromotion(isDue: false) != nil) == followed)
        }
    }

    // MARK: Ceilings

    @Test func `pushes in flight stay within the limit, and one app does not use all of it`() throws {
        var state = try begin(with: [first])
        var flights: [UnsettledClaim] = []
        while let plan = state.nextClaim(at: now) {
            let answer = self.answer(to: plan, more: 1, claim: Int64(flights.count))
            _ = state.claimReturned(answer, to: plan, at: now)
            flights.append(UnsettledClaim(try #require(answer.jobs), claimedAs: 7, returnedAt: now))
        }
        #expect((270...360).contains(state.schedule.inFlight))
        _ = state.understood([second], at: now)
        let others = plans(&state, at: now)
        #expect(others.map(\.lane) == [second])
        #expect(state.schedule.inFlight <= 480)
        let ended = try #require(flights.last)
        _ = end(ended, .accepted, in: &state, at: now)
        let more = state.nextClaim(at: now)
        #expect(more?.lane == first)
    }

    @Test func `a worker claims no more than the others of its process leave`() throws {
        var state = try begin(with: [first])
        let none = state.nextClaim(at: now, within: 4)
        #expect(none == nil, "it is worth no claim")
        let some = state.nextClaim(at: now, within: 5)
        #expect(some?.pushes == 5)
    }

    @Test func `room that a claim did not use is free again`() throws {
        var state = try begin(with: [first])
        let asked = state.nextClaim(at: now)
        let plan = try #require(asked)
        #expect(state.schedule.inFlight == Int(plan.pushes))
        state.claimFailed(plan, .connection, at: now)
        #expect(state.schedule.inFlight == 0)
        #expect(state.schedule.isIdle)
        _ = try claim(&state, at: now, rows: 1)
        #expect(state.schedule.inFlight == 1)
    }

    @Test func `a row that can never fit is split, and one that only has to wait is not`() throws {
        var state = try begin(with: [first])
        let asked = state.nextClaim(at: now)
        let plan = try #require(asked)
        let large = state.claimReturned(answer(to: plan, more: 361), to: plan, at: now)
        #expect(large == 1000)
        let askedAgain = state.nextClaim(at: now)
        let next = try #require(askedAgain)
        let fitting = state.claimReturned(answer(to: next, more: 360, claim: 2), to: next, at: now)
        #expect(fitting == nil)
    }

    // MARK: Counting

    @Test func `counts that were certainly not written are written with the next`() throws {
        var state = try begin(with: [first])
        let flight = try claim(&state, at: now, rows: 1)
        _ = end(flight, .accepted, in: &state, at: now)
        let counts = state.unwrittenCounts.take()
        #expect(counts[1]?.sent == 1)
        #expect(state.unwrittenCounts.take().isEmpty)
        state.unwrittenCounts.failed(counts, .unknown)
        #expect(state.unwrittenCounts.take().isEmpty)
        state.unwrittenCounts.failed(counts, .nothingDone)
        #expect(state.unwrittenCounts.take()[1]?.sent == 1)
    }
}
