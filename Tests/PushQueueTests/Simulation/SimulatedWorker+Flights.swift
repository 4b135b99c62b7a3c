import ApplePush
import CarillonIO
import CarillonPostgres

@testable import CarillonPushQueue

/// Doing what flights need, with the models of the database and the gateway.
extension SimulatedWorker {
    func dispatch() {
        while let plan = state.nextClaim(at: now) {
            let flight = Flight(plan, claimedAs: state.lease.id)
            take(flight.first, of: SimulatedFlight(flight))
        }
        if state.phase == .draining || state.phase == .givingUp, state.isDone { signOff() }
    }

    private func take(_ step: Flight.Step, of way: SimulatedFlight) {
        guard isAlive else { return }
        let worker = way.flight.worker
        let app = way.flight.app
        switch step {
        case .claim(let plan):
            guard let link else { return tell(.claimFailed(.connection), to: way) }
            ask(link, way, or: { .claimFailed(ClaimFault($0.error)) }) {
                let (claim, next) = $0.claim(plan, worker: worker)
                return .claimed(ClaimRows(claim, next: next, lane: plan.lane))
            }
        case .takeTurn(let pushes, _):
            ask(way) { .turnGiven($0.takeTurn(of: app, pushes: pushes).map { .microseconds($0) }) }
        case .ask(.order, let jobs, let updates): ask(way) { Flight.Event($0.order(updates, of: jobs, as: worker)) }
        case .ask(.pace(let most), let jobs, let pushes):
            ask(way) { Flight.Event($0.pace(pushes, of: jobs, as: worker, most: most)) }
        case .wait(let duration): after(duration) { self.tell(.waited, to: way) }
        case .release(let jobs):
            ask(way) {
                $0.release([jobs.key], of: worker)
                return .released
            }
        case .deliver(let jobs, _):
            deliveries += 1
            let delivery = SimulatedDelivery(deliveries, of: jobs, from: self)
            way.delivery = delivery
            inFlight[deliveries] = delivery
            delivery.begin { outcomes, hasEnded in
                self.tell(.delivered(outcomes, hasRest: !hasEnded), to: way)
            }
        case .awaitRest:
            way.delivery?.whenEnded { outcomes in self.tell(.delivered(outcomes, hasRest: false), to: way) }
        case .write(let writing): ask(way) { $0.settle(writing) }
        case .writeCounts:
            guard let link else { return tell(.counted, to: way) }
            count(on: link) { self.tell(.counted, to: way) }
        case .split(let message):
            guard let link else { return tell(.wasSplit(jobs: nil), to: way) }
            let lane = way.flight.plan.lane
            let size = state.schedule.jobSize(at: state.apps.maxRate(of: lane.app))
            ask(link, way, or: { _ in .wasSplit(jobs: nil) }) {
                .wasSplit(jobs: $0.split(message, in: lane, size: size))
            }
        case .end: break
        }
    }

    /// Writes the counts, and does what follows from them.
    func count(on link: SimulatedLink, then: @escaping () -> Void) {
        let counts = state.unwrittenCounts.take()
        guard !counts.isEmpty else { return then() }
        link.ask(self) {
            $0.count(counts)
        } then: { answer in
            switch answer {
            case .failure(let loss):
                self.state.unwrittenCounts.failed(counts, loss == .unanswered ? .unknown : .nothingDone)
                self.failed(loss, on: link)
            case .success(let opened):
                self.state.unwrittenCounts.written()
                for app in opened { self.simulation.pause(app) }
            }
            then()
        }
    }

    private func tell(_ event: Flight.Event, to way: SimulatedFlight) {
        let step = way.flight.next(after: event, in: &state, at: now)
        _ = way.flight.takeReports()
        dispatch()
        take(step, of: way)
    }

    /// Asks what has to succeed some day, as soon as there is a connection.
    private func ask(_ way: SimulatedFlight, _ statement: @escaping (inout ModelDatabase) -> Flight.Event) {
        withDatabase { link in self.ask(link, way, or: { .failed($0.error) }, statement) }
    }

    private func ask(
        _ link: SimulatedLink,
        _ way: SimulatedFlight,
        or failure: @escaping (SimulatedLink.Loss) -> Flight.Event,
        _ statement: @escaping (inout ModelDatabase) -> Flight.Event
    ) {
        link.ask(self, statement) { answer in
            switch answer {
            case .failure(let loss):
                self.failed(loss, on: link)
                self.tell(failure(loss), to: way)
            case .success(let event): self.tell(event, to: way)
            }
        }
    }
}

/// A flight that several steps share.
final class SimulatedFlight {
    var flight: Flight
    var delivery: SimulatedDelivery?

    init(_ flight: Flight) { self.flight = flight }
}

extension SimulatedLink.Loss {
    /// The error that a worker gets.
    fileprivate var error: PostgresError {
        switch self {
        case .refused: PostgresError(.server, "The server is short of something.", sqlState: "53000")
        case .unanswered: PostgresError(.closed, "The connection is gone.", effect: .unknown)
        }
    }
}

extension ClaimedJobs {
    /// What the push at that place of the batch is.
    func push(at place: Int) -> ModelPush {
        let job = jobs.last { Int($0.firstPush) <= place && $0.pushes > 0 }
        return ModelPush(message: job?.message ?? 0, token: batch.token(of: place))
    }
}
