import ApplePush
import IO

@testable import PushQueue

/// The way of one claim.
extension SimulatedWorker {
    func dispatch() {
        while let plan = self.state.nextClaim(at: self.now) { self.fly(plan) }
        if self.state.phase == .draining || self.state.phase == .givingUp, self.state.isDone { self.signOff() }
    }

    private func fly(_ plan: ClaimPlan) {
        let worker = self.state.id
        guard let link else {
            self.state.claimFailed(plan, at: self.now)
            return
        }
        link.ask(self) {
            $0.claim(plan, worker: worker)
        } then: { answer in
            switch answer {
            case .failure(let loss):
                self.state.claimFailed(plan, at: self.now)
                self.failed(loss, on: link)
                self.dispatch()
            case .success(let (claim, next)):
                let answer = ClaimAnswer(claim, next: next, lane: plan.lane)
                let large = self.state.claimAnswered(answer, to: plan, at: self.now)
                let answeredAt = self.now
                self.dispatch()
                self.split(large, of: plan.lane) {
                    if let jobs = answer.jobs { self.send(jobs, as: worker, answeredAt: answeredAt) }
                }
            }
        }
    }

    private func split(_ large: Int64?, of lane: Lane, then: @escaping () -> Void) {
        guard let large, let link else { return then() }
        let size = self.state.cutSize(of: lane.app)
        link.ask(self) {
            $0.split(large, in: lane, size: size)
        } then: { answer in
            switch answer {
            case .failure(let loss): self.failed(loss, on: link)
            case .success:
                self.state.split(in: lane, at: self.now)
                self.dispatch()
            }
            then()
        }
    }

    private func send(_ jobs: ClaimedJobs, as worker: Int64, answeredAt: MonotonicInstant) {
        let way = SimulatedFlight(Flight(jobs, claimedAs: worker, answeredAt: answeredAt))
        self.waitForTurn(of: jobs) { hasTurn in
            self.state.departed(jobs.app)
            self.dispatch()
            self.depart(way, as: worker, hasTurn: hasTurn)
        }
    }

    private func waitForTurn(of jobs: ClaimedJobs, _ pace: RetryPace = RetryPace(), then: @escaping (Bool) -> Void) {
        guard self.state.limits.isPaced(jobs.app), !jobs.batch.isEmpty else { return then(true) }
        guard self.state.phase == .working else { return then(false) }
        self.withDatabase { link in
            link.ask(self) {
                $0.takeTurn(of: jobs.app, pushes: jobs.batch.count)
            } then: { answer in
                switch answer {
                case .failure(let loss):
                    self.failed(loss, on: link)
                    var pace = pace
                    self.after(self.state.retryWait(&pace) ?? .zero) { [pace] in
                        self.waitForTurn(of: jobs, pace, then: then)
                    }
                case .success(let wait?):
                    let turn = RateTurn(in: .microseconds(wait), from: self.now)
                    self.after(.microseconds(wait)) {
                        if turn.isMissed(at: self.now) { self.waitForTurn(of: jobs, then: then) } else { then(true) }
                    }
                case .success(nil):
                    self.state.foundNoTurn(for: jobs.app, at: self.now)
                    then(false)
                }
            }
        }
    }

    private func depart(_ way: SimulatedFlight, as worker: Int64, hasTurn: Bool) {
        let jobs = way.flight.jobs
        switch hasTurn ? self.state.departure(of: jobs, claimedAs: worker, at: self.now) : .giveBack {
        case .giveBack: self.release(way)
        case .nothingToSend:
            self.settle(way, Outcomes(repeating: .delivered, count: 0)) { self.end(way) }
        case .send(_, let mostAttempts):
            way.flight.mostAttempts = mostAttempts
            let delivery = SimulatedDelivery(jobs, from: self)
            self.airborne[jobs.id] = delivery
            delivery.begin { outcomes, hasEnded in
                self.settle(way, outcomes) {
                    guard !hasEnded else { return self.end(way) }
                    self.dispatch()
                    delivery.whenEnded { outcomes in self.settle(way, outcomes) { self.end(way) } }
                }
            }
        }
    }

    private func settle(_ way: SimulatedFlight, _ outcomes: Outcomes, then: @escaping () -> Void) {
        if way.flight.isLost { return then() }
        let settlement = self.state.landed(way.flight, outcomes, at: self.now)
        let delivered = outcomes.indices.filter { place in
            outcomes[place].verdict == .delivered && (way.flight.settled.map { $0[place].verdict == .pending } ?? true)
        }
        let pushes = delivered.map { way.flight.jobs.push(at: $0) }
        self.write(way, SettlementWriting(settlement, part: way.flight.part), settlement, outcomes, pushes, then)
    }

    private func write(
        _ way: SimulatedFlight,
        _ writing: SettlementWriting,
        _ settlement: Settlement,
        _ outcomes: Outcomes,
        _ delivered: [ModelPush],
        _ then: @escaping () -> Void
    ) {
        self.withDatabase { link in
            let jobs = way.flight.jobs
            let worker = way.flight.worker
            let part = writing.part
            link.ask(self) {
                $0.settle(settlement, of: jobs, as: worker, part: part, delivered: delivered)
            } then: { answer in
                var writing = writing
                switch answer {
                case .failure(let loss):
                    self.failed(loss, on: link)
                    writing.failed(mayBeWritten: loss == .unanswered)
                    self.after(self.state.retryWait(&way.pace) ?? .zero) {
                        self.write(way, writing, settlement, outcomes, delivered, then)
                    }
                case .success(let answer):
                    writing.answered(answer)
                    let isWritten = writing.next == .over(isWritten: true)
                    if self.state.settled(&way.flight, settlement, outcomes, isWritten: isWritten, at: self.now) {
                        _ = self.state.learned(from: settlement, of: jobs, at: self.now)
                    }
                    then()
                }
            }
        }
    }

    private func release(_ way: SimulatedFlight) {
        self.withDatabase { link in
            let jobs = way.flight.jobs
            let worker = way.flight.worker
            link.ask(self) {
                $0.release([jobs.key], of: worker)
            } then: { answer in
                switch answer {
                case .failure(let loss):
                    self.failed(loss, on: link)
                    self.after(self.state.retryWait(&way.pace) ?? .zero) { self.release(way) }
                case .success:
                    self.state.gaveBack(jobs, at: self.now)
                    self.end(way)
                }
            }
        }
    }

    private func end(_ way: SimulatedFlight) {
        self.state.ended(way.flight)
        self.dispatch()
    }
}

/// A flight that several steps share.
final class SimulatedFlight {
    var flight: Flight
    var pace = RetryPace()

    init(_ flight: Flight) { self.flight = flight }
}

extension ClaimedJobs {
    /// What the push at that place of the batch is.
    func push(at place: Int) -> ModelPush {
        let job = self.jobs.last { Int($0.firstPush) <= place && $0.pushes > 0 }
        return ModelPush(message: job?.message ?? 0, token: self.batch.token(of: place))
    }
}
