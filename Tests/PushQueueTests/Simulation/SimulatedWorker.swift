import CarillonIO

@testable import CarillonPushQueue

/// The process of a worker: a shell around a `WorkerState`, with a simulated database, gateway and clock.
///
/// It does what `Worker` and its parts do, in the same order. While they wait for a statement, or for their turn on the loop, other
/// events may occur. The process may be suspended for a while, and it may die.
final class SimulatedWorker {
    unowned let simulation: Simulation
    var state: WorkerState
    private let ceiling: FlightCeiling.Member?
    private(set) var isAlive = true
    /// In microseconds.
    private var stoppedUntil: Int64 = 0
    /// Whether it has begun to work.
    private var isAtWork = false
    /// The dispatcher was rung, and has not run since.
    private var isDispatcherRung = false

    // MARK: What its parts remember

    /// The shared connection.
    var link: SimulatedLink?
    /// For heartbeats.
    var lifeline: SimulatedLink?
    /// All open connections.
    var links: [SimulatedLink] = []
    var isReconnecting = false
    var waiting: [(SimulatedLink) -> Void] = []
    var waitingForLifeline: [(SimulatedLink) -> Void] = []
    /// The purposes that have a connection of their own now.
    var purposes: Set<WorkerDatabase.Purpose> = []
    /// For large statements.
    var large = AccessQueue<() -> Void>(places: 2)
    /// Dead workers that it has seen while it slept.
    var seenDead: [HeartbeatState.Sighting] = []
    /// The number of the latest wait before a look. Earlier waits are void.
    var nextLook = 0
    /// A look is under way.
    var isLooking = false
    /// Whether it looks again at once.
    var isRung = false
    /// Deliveries that have not ended, by their numbers. A database that has crashed may give the id of a claim again.
    var inFlight: [Int: SimulatedDelivery] = [:]
    var deliveries = 0

    init(_ simulation: Simulation, _ options: WorkerOptions, _ ceiling: FlightCeiling.Member?) {
        self.simulation = simulation
        self.ceiling = ceiling
        state = WorkerState(options, seed: simulation.random.next(), apps: simulation.apps)
        state.lease.began(in: (1, 2))
    }

    var now: MonotonicInstant { simulation.now }

    // MARK: The process

    /// Does something after this time if the process still exists, or later if it is suspended then.
    func after(_ wait: Duration, _ action: @escaping () -> Void) {
        simulation.at(simulation.time + wait.nanoseconds / 1000) { self.perform(action) }
    }

    /// Does something as soon as the process runs.
    func perform(_ action: @escaping () -> Void) {
        guard isAlive else { return }
        guard simulation.time >= stoppedUntil else {
            simulation.at(stoppedUntil) { self.perform(action) }
            return
        }
        action()
    }

    func stop(for wait: Duration) {
        stoppedUntil = max(stoppedUntil, simulation.time + wait.nanoseconds / 1000)
    }

    func die() {
        isAlive = false
        for link in links { link.cut() }
        (link, lifeline, links) = (nil, nil, [])
        waiting = []
        waitingForLifeline = []
        large = AccessQueue(places: 2)
        for delivery in inFlight.values { delivery.abandon() }
        inFlight = [:]
    }

    // MARK: Work

    /// A process that cannot begin exits, and is started again.
    func begin() {
        let beginAgain = {
            for link in self.links { link.cut() }
            self.after(.seconds(1)) { self.begin() }
        }
        connect { first in
            guard case .success(let lifeline) = first else { return beginAgain() }
            self.connect { second in
                guard case .success(let link) = second else { return beginAgain() }
                self.register(on: lifeline) { answer in
                    guard case .success = answer else { return beginAgain() }
                    self.lifeline = lifeline
                    self.listen(on: link) {
                        self.use(link)
                        self.work()
                    }
                }
            }
        }
    }

    private func work() {
        isAtWork = true
        keepLease()
        keepWatch()
        keepApps()
        watchOthers { self.takeOverOrphans { self.ring() } }
        for task in tasks { keep(task) }
        dispatch()
    }

    /// Rings the bell of the dispatcher, which runs after other jobs of the loop and perhaps other events.
    func dispatch() {
        guard !isDispatcherRung else { return }
        isDispatcherRung = true
        after(.microseconds(simulation.random.number(in: 0...20))) {
            self.isDispatcherRung = false
            self.claim()
        }
    }

    private func claim() {
        guard isAtWork else { return }
        while let plan = nextClaim() { after(.zero) { self.fly(plan) } }
        if state.phase == .draining || state.phase == .givingUp, state.isDone { signOff() }
    }

    private func nextClaim() -> ClaimPlan? {
        guard let ceiling else { return state.nextClaim(at: now) }
        let room = ceiling.reserve(inFlight: state.schedule.inFlight, at: now)
        defer { ceiling.record(inFlight: state.schedule.inFlight) }
        return state.nextClaim(at: now, within: room)
    }

    // MARK: Stopping

    func drain() {
        guard state.drainRequested() else { return }
        dispatch()
        after(state.options.drainTimeout) {
            guard self.state.giveUpRequested() else { return }
            for number in self.inFlight.keys.sorted() { self.inFlight[number]?.giveUp() }
            self.dispatch()
            self.after(self.state.options.giveUpTimeout) { self.end() }
        }
    }

    private func end() {
        state.ended()
        die()
    }

    private func signOff() {
        guard let link else { return end() }
        state.ended()
        for other in links where other !== link { other.cut() }
        signOff(on: link)
    }

    /// Releases stray claims and signs off, when all other work has ended.
    private func signOff(on link: SimulatedLink) {
        guard link.isIdle else { return after(.milliseconds(1)) { self.signOff(on: link) } }
        writeLast(on: link) {
            self.releaseStrays(on: link) { answer in
                guard case .success = answer else { return self.end() }
                let worker = self.state.lease.id
                link.ask(self, { $0.signOff(worker) }, then: { _ in self.end() })
            }
        }
    }

    /// The worker can sign off even if this fails.
    private func writeLast(on link: SimulatedLink, then: @escaping () -> Void) {
        count(on: link) { loss in
            guard loss == nil, self.state.sleep.isPossible else { return then() }
            self.clear(on: link, tellingOthers: true) { _ in then() }
        }
    }
}
