import ApplePush
import CarillonIO

@testable import CarillonPushQueue

/// A batch on its way to the gateway. It is sent in two turns, as streams become free. Pushes that are not sent when the permit
/// ends are safe to send again.
final class SimulatedDelivery {
    /// Unique for its worker.
    private let number: Int
    private let jobs: ClaimedJobs
    private unowned let worker: SimulatedWorker
    private let permit: SendingPermit
    private var outcomes: Outcomes
    /// Turns that have not ended.
    private var open: [Range<Int>]
    private var report: ((Outcomes, Bool) -> Void)?
    private var listener: ((Outcomes) -> Void)?

    init(_ number: Int, of jobs: ClaimedJobs, from worker: SimulatedWorker) {
        self.number = number
        self.jobs = jobs
        self.worker = worker
        permit = worker.state.lease.permit
        outcomes = Outcomes(repeating: Outcome(.safe), count: jobs.batch.count)
        let cut = worker.simulation.random.number(in: 0...jobs.batch.count)
        self.open = [0..<cut, cut..<jobs.batch.count].filter { !$0.isEmpty }
    }

    /// Reports the outcomes of the batch and true, or, if some take too long, those known by then and false.
    func begin(_ report: @escaping (Outcomes, Bool) -> Void) {
        self.report = report
        let simulation = worker.simulation
        if simulation.gateway.isDown {
            outcomes.connectFailure = PushError(.unreachable, "Nobody answers.")
            worker.after(wait(50)) {
                self.open = []
                self.tell()
            }
            return
        }
        for turn in self.open {
            worker.after(wait(60)) {
                self.submit(turn)
                self.worker.after(self.wait(simulation.random.chance(1, outOf: 6) ? 1200 : 60)) { self.end(turn) }
            }
        }
        worker.after(worker.state.options.settleAfter) { self.returnEarly() }
    }

    /// The outcomes of the whole batch, when all of it has ended.
    func whenEnded(_ listener: @escaping (Outcomes) -> Void) {
        if self.open.isEmpty { return listener(outcomes) }
        self.listener = listener
    }

    /// The connections are closed: pushes that were sent and not answered become unknown.
    func giveUp() {
        for turn in self.open {
            for place in turn where outcomes[place].verdict != .safe {
                worker.simulation.gateway.excuse(jobs.push(at: place), id: jobs.batch.id(of: place))
                outcomes[place] = Outcome(.unknown)
            }
        }
        self.open = []
        tell()
    }

    /// The process has died, so nothing is reported.
    func abandon() {
        report = nil
        listener = nil
    }

    private func wait(_ max: Int) -> Duration { worker.simulation.random.milliseconds(in: 0...max) }

    private func submit(_ turn: Range<Int>) {
        let simulation = worker.simulation
        guard self.open.contains(turn), permit.allows(at: simulation.now) else { return }
        for place in turn {
            let push = jobs.push(at: place)
            simulation.watch(push, of: jobs)
            let id = jobs.batch.id(of: place)
            if let stamp = jobs.batch.stamp(of: place) { simulation.arrived(push, stamp: stamp) }
            outcomes[place] = simulation.gateway.receive(push, id: id, at: simulation.time, using: &simulation.random)
        }
    }

    private func end(_ turn: Range<Int>) {
        self.open.removeAll { $0 == turn }
        if self.open.isEmpty { tell() }
    }

    private func tell() {
        worker.inFlight[number] = nil
        if let report {
            self.report = nil
            report(outcomes, true)
        } else if let listener {
            self.listener = nil
            listener(outcomes)
        }
    }

    private func returnEarly() {
        guard let report, let slow = self.open.first, slow.count < jobs.batch.count else { return }
        if self.open.count > 1 { return }
        self.report = nil
        var known = outcomes
        for place in slow { known[place] = Outcome(.pending) }
        report(known, false)
    }
}

extension PushBatch {
    /// The time in the payload of an update.
    func stamp(of place: Int) -> Int64? {
        guard pushType(of: place) == .liveActivity else { return nil }
        let text = String(decoding: payload(of: place), as: UTF8.self)
        return Int64(text.split(whereSeparator: { !$0.isNumber }).first ?? "")
    }
}
