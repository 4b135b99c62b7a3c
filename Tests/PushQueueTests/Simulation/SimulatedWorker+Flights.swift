import ApplePush
import CarillonIO

@testable import CarillonPushQueue

/// What `FlightRunner` does, with the models of the database and the gateway.
extension SimulatedWorker {
    func fly(_ plan: ClaimPlan) {
        let flight = Flight(plan, claimedAs: state.lease.id)
        take(flight.first, of: SimulatedFlight(flight))
    }

    private func take(_ step: Flight.Step, of way: SimulatedFlight) {
        guard isAlive else { return }
        let worker = way.flight.worker
        let app = way.flight.app
        switch step {
        case .claim(let plan): claim(plan, for: way)
        case .takeTurn(let pushes, let route):
            let ask = {
                self.ask(way) { .turnGiven($0.takeTurn(of: app, pushes: pushes).map { .microseconds($0) }) }
            }
            // The connection to the gateway comes first.
            if route == nil { ask() } else { after(simulation.random.milliseconds(in: 0...20), ask) }
        case .ask(.order, let jobs, let updates): ask(way) { Flight.Event($0.order(updates, of: jobs, as: worker)) }
        case .ask(.pace(let max), let jobs, let pushes):
            ask(way) { Flight.Event($0.pace(pushes, of: jobs, as: worker, max: max)) }
        case .wait(let duration): after(duration) { self.tell(.waited, to: way) }
        case .release(let jobs):
            ask(way) {
                $0.release([jobs.key], of: worker)
                return .released
            }
        case .deliver(let jobs, _): deliver(jobs, for: way)
        case .awaitRemainder:
            way.delivery?.whenEnded { outcomes in self.tell(.delivered(outcomes, hasRemainder: false), to: way) }
        case .write(let writing):
            ask(way, isLarge: writing.claim.jobs.count >= AppWriter.manyRows) { $0.settle(writing) }
        case .writeCounts:
            guard let link else { return tell(.counted, to: way) }
            count(on: link) { loss in
                if let loss { self.failed(loss, on: link) }
                self.tell(.counted, to: way)
            }
        case .split(let message): split(message, for: way)
        case .end: break
        }
    }

    private func tell(_ event: Flight.Event, to way: SimulatedFlight) {
        let step = way.flight.next(after: event, in: &state, at: now)
        _ = way.flight.takeNotes()
        dispatch()
        take(step, of: way)
    }

    private func claim(_ plan: ClaimPlan, for way: SimulatedFlight) {
        let worker = way.flight.worker
        let isLarge = plan.depth == .deep
        let ask = { () -> Void in
            // Since the claim was planned, the connection may have been lost.
            guard let link = self.link else {
                if isLarge { self.largeEnded() }
                return self.tell(.claimFailed(.connection), to: way)
            }
            link.ask(self) { database in
                let (claim, next) = database.claim(plan, worker: worker)
                return ClaimRows(claim, next: next, lane: plan.lane)
            } then: { answer in
                if isLarge { self.largeEnded() }
                switch answer {
                case .success(let rows): self.tell(.claimed(rows), to: way)
                case .failure(let loss):
                    self.failed(loss, on: link, isPaced: true)
                    self.tell(.claimFailed(ClaimFault(loss.error)), to: way)
                }
            }
        }
        if isLarge { waitForLarge(ask) } else { ask() }
    }

    private func deliver(_ jobs: ClaimedJobs, for way: SimulatedFlight) {
        deliveries += 1
        let delivery = SimulatedDelivery(deliveries, of: jobs, from: self)
        way.delivery = delivery
        inFlight[deliveries] = delivery
        delivery.begin { outcomes, hasEnded in
            var capacity: Int?
            if self.simulation.random.chance(1, outOf: 3) { capacity = self.simulation.random.number(in: 1...20) }
            self.state.schedule.learned(capacity: capacity, of: jobs.app)
            self.tell(.delivered(outcomes, hasRemainder: !hasEnded), to: way)
        }
    }

    private func split(_ message: Int64, for way: SimulatedFlight) {
        let lane = way.flight.plan.lane
        var jobs: Int?
        withOwnLink(for: .split) { own, done in
            let size = self.state.schedule.jobSize(at: self.state.apps.maxRate(of: lane.app))
            own.ask(self) {
                $0.split(message, in: lane, size: size)
            } then: { answer in
                jobs = try? answer.get()
                done(answer.loss)
            }
        } then: { loss in
            if let loss { self.state.refusals.failed(loss.error, at: self.now) }
            self.tell(.wasSplit(jobs: jobs), to: way)
        }
    }

    /// Runs a statement that must succeed in the end, as soon as there is a connection.
    private func ask(
        _ way: SimulatedFlight,
        isLarge: Bool = false,
        _ statement: @escaping (inout ModelDatabase) -> Flight.Event
    ) {
        withDatabase { link in
            let ask = {
                link.ask(self, statement) { answer in
                    if isLarge { self.largeEnded() }
                    switch answer {
                    case .success(let event): self.tell(event, to: way)
                    case .failure(let loss):
                        self.failed(loss, on: link, isPaced: true)
                        self.tell(.failed(loss.error), to: way)
                    }
                }
            }
            if isLarge { self.waitForLarge(ask) } else { ask() }
        }
    }
}

/// A flight that several steps share.
final class SimulatedFlight {
    var flight: Flight
    var delivery: SimulatedDelivery?

    init(_ flight: Flight) { self.flight = flight }
}

extension ClaimedJobs {
    /// The push at that position of the batch.
    func push(at place: Int) -> ModelPush {
        let job = jobs.last { Int($0.firstPush) <= place && $0.pushes > 0 }
        return ModelPush(message: job?.message ?? 0, token: batch.token(of: place))
    }
}
