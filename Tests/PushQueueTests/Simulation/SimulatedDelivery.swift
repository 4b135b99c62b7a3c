import ApplePush
import IO

@testable import PushQueue

/// A batch on its way to the gateway, in two turns, as streams become free. What has not been sent when the permit ends is
/// safe.
final class SimulatedDelivery {
    private let jobs: ClaimedJobs
    private unowned let worker: SimulatedWorker
    private let permit: SendingPermit
    private var outcomes: Outcomes
    /// Turns that have not ended.
    private var open: [Range<Int>]
    private var report: ((Outcomes, Bool) -> Void)?
    private var listener: ((Outcomes) -> Void)?

    init(_ jobs: ClaimedJobs, from worker: SimulatedWorker) {
        self.jobs = jobs
        self.worker = worker
        self.permit = worker.permit
        self.outcomes = Outcomes(repeating: Outcome(.safe), count: jobs.batch.count)
        let cut = worker.simulation.random.number(in: 0...jobs.batch.count)
        self.open = [0..<cut, cut..<jobs.batch.count].filter { !$0.isEmpty }
    }

    /// Tells what came of the batch; where some of it takes too long, what has ended by then, and false.
    func begin(_ report: @escaping (Outcomes, Bool) -> Void) {
        self.report = report
        let simulation = self.worker.simulation
        if simulation.gateway.isDown {
            self.outcomes.connectFailure = PushError(.unreachable, "Nobody answers.")
            self.worker.after(self.wait(50)) {
                self.open = []
                self.tell()
            }
            return
        }
        for turn in self.open {
            self.worker.after(self.wait(60)) {
                self.submit(turn)
                self.worker.after(self.wait(simulation.random.chance(1, outOf: 6) ? 1200 : 60)) { self.end(turn) }
            }
        }
        self.worker.after(self.worker.state.options.patience) { self.lostPatience() }
    }

    /// The outcomes of the whole batch, when all of it has ended.
    func whenEnded(_ listener: @escaping (Outcomes) -> Void) {
        if self.open.isEmpty { return listener(self.outcomes) }
        self.listener = listener
    }

    /// Torn down: whatever had been sent and not answered has no answer.
    func giveUp() {
        for turn in self.open {
            for place in turn where self.outcomes[place].verdict != .safe {
                self.worker.simulation.gateway.excuse(self.jobs.push(at: place), id: self.jobs.batch.id(of: place))
                self.outcomes[place] = Outcome(.unknown)
            }
        }
        self.open = []
        self.tell()
    }

    private func wait(_ most: Int) -> Duration { self.worker.simulation.random.milliseconds(in: 0...most) }

    private func submit(_ turn: Range<Int>) {
        let simulation = self.worker.simulation
        guard self.open.contains(turn), self.permit.allows(at: simulation.now) else { return }
        for place in turn {
            let push = self.jobs.push(at: place)
            simulation.watch(push, of: self.jobs)
            let id = self.jobs.batch.id(of: place)
            self.outcomes[place] = simulation.gateway.receive(push, id: id, using: &simulation.random)
        }
    }

    private func end(_ turn: Range<Int>) {
        self.open.removeAll { $0 == turn }
        if self.open.isEmpty { self.tell() }
    }

    private func tell() {
        self.worker.airborne[self.jobs.id] = nil
        if let report {
            self.report = nil
            report(self.outcomes, true)
        } else if let listener {
            self.listener = nil
            listener(self.outcomes)
        }
    }

    private func lostPatience() {
        guard let report, let slow = self.open.first, slow.count < self.jobs.batch.count else { return }
        if self.open.count > 1 { return }
        self.report = nil
        var known = self.outcomes
        for place in slow { known[place] = Outcome(.pending) }
        report(known, false)
    }
}
