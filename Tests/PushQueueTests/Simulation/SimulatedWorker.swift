import CarillonIO

@testable import CarillonPushQueue

/// A worker's process: the shell round a `WorkerState`, with a simulated database, gateway and clock.
///
/// It does what `Worker` and its parts do, in their order. While they wait for an answer, or for their turn on the loop, other
/// events may come. It may be stopped for a while, and it may die.
final class SimulatedWorker {
    unowned let simulation: Simulation
    var state: WorkerState
    private(set) var isAlive = true
    /// In microseconds.
    private var stoppedUntil: Int64 = 0
    /// It has begun.
    private var isAtWork = false
    /// The dispatcher was rung, and has not run since.
    private var isDispatcherRung = false

    // MARK: What its parts remember

    /// What all work shares.
    var link: SimulatedLink?
    /// For heartbeats.
    var lifeline: SimulatedLink?
    /// All that it has opened, until they are closed.
    var links: [SimulatedLink] = []
    var isReconnecting = false
    var waiting: [(SimulatedLink) -> Void] = []
    var waitingForLifeline: [(SimulatedLink) -> Void] = []
    /// What it has connections of their own for.
    var purposes: Set<WorkerDatabase.Purpose> = []
    /// For large statements.
    var large = AccessQueue<() -> Void>(places: 2)
    /// Dead workers that it has seen while it slept.
    var seenDead: [HeartbeatState.Sighting] = []
    /// The latest wait before a look. An earlier one is void.
    var nextLook = 0
    /// A look is under way.
    var isLooking = false
    /// It is to look again at once.
    var isRung = false
    /// What is with the backend, by the delivery's number. A database that has crashed may give a claim's number again.
    var inFlight: [Int: SimulatedDelivery] = [:]
    var deliveries = 0

    init(_ simulation: Simulation, _ options: WorkerOptions) {
        self.simulation = simulation
        state = WorkerState(options, seed: simulation.random.next(), apps: simulation.apps)
        state.lease.began(in: (1, 2))
    }

    var now: MonotonicInstant { simulation.now }

    // MARK: The process

    /// Does something a while from now, if the process is still there; later, if it is stopped.
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

    /// A process that cannot begin ends, and is started again.
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

    /// Rings for the dispatcher. Other jobs of the loop come first, and perhaps other events.
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
        while let plan = state.nextClaim(at: now) { after(.zero) { self.fly(plan) } }
        if state.phase == .draining || state.phase == .givingUp, state.isDone { signOff() }
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

    /// Leaves nothing behind, once all other work has ended.
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

    /// The worker can sign off without this.
    private func writeLast(on link: SimulatedLink, then: @escaping () -> Void) {
        count(on: link) { loss in
            guard loss == nil, self.state.sleep.isPossible else { return then() }
            self.clear(on: link, tellingOthers: true) { _ in then() }
        }
    }
}
