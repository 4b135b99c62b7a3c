import ApplePush
import CarillonIO

@testable import CarillonPushQueue

/// A worker's process: the shell round a `WorkerState`, with a simulated database, gateway and clock.
///
/// It does what `Worker` does, not always in the same order. It may be stopped for a while, and it may die.
final class SimulatedWorker {
    unowned let simulation: Simulation
    var state: WorkerState
    /// What all work shares.
    var link: SimulatedLink?
    /// For heartbeats.
    private var lifeline: SimulatedLink?
    private var isReconnecting = false
    private var isRegisteringAgain = false
    /// What is set to happen next of the looks. An earlier one is void.
    var nextLook = 0
    /// A look is under way.
    var isLooking = false
    /// It is to look again at once.
    var isRung = false
    var permit = SendingPermit(until: MonotonicInstant(nanoseconds: 0))
    private(set) var isAlive = true
    /// In microseconds.
    private var stoppedUntil: Int64 = 0
    private var waiting: [(SimulatedLink) -> Void] = []
    private var waitingForLifeline: [(SimulatedLink) -> Void] = []
    /// What is with the backend, by the delivery's number. A database that has crashed may give a claim's number again.
    var inFlight: [Int: SimulatedDelivery] = [:]
    var deliveries = 0

    init(_ simulation: Simulation, _ options: WorkerOptions) {
        self.simulation = simulation
        state = WorkerState(options, seed: simulation.random.next(), apps: simulation.apps)
        state.lease.began(in: (1, 2))
    }

    var now: MonotonicInstant { simulation.now }

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
        link?.cut()
        link = nil
        lifeline?.cut()
        lifeline = nil
        waiting = []
        waitingForLifeline = []
        for delivery in inFlight.values { delivery.abandon() }
        inFlight = [:]
    }

    // MARK: The connections

    func begin() {
        connect { lifeline in
            self.register(on: lifeline) { isDone in
                guard isDone else { return self.after(.seconds(1)) { self.begin() } }
                self.lifeline = lifeline
                self.connect { link in
                    self.use(link)
                    self.keepLease()
                    self.keepWatch()
                    self.keepOrder()
                    self.keepCounts()
                    self.keepMaintaining()
                    self.keepFeedback()
                    self.sweep()
                    self.watchOthers { self.takeOverOrphans { self.step() } }
                }
            }
        }
    }

    private func connect(_ then: @escaping (SimulatedLink) -> Void) {
        after(state.reconnectionWait()) {
            guard self.state.phase != .over else { return }
            guard self.simulation.databaseIsUp else { return self.connect(then) }
            then(self.newLink())
        }
    }

    func newLink() -> SimulatedLink {
        let link = SimulatedLink()
        simulation.links.append(link)
        return link
    }

    private func use(_ link: SimulatedLink) {
        guard link.isOpen else { return reconnect() }
        self.link = link
        state.sleep.connected(canBeNotified: true)
        state.reconnection.connected(at: now)
        let waiting = self.waiting
        self.waiting = []
        for action in waiting { action(link) }
        dispatch()
    }

    /// First the one that proves that the worker is alive.
    private func reconnect() {
        guard !isReconnecting, lifeline == nil || self.link == nil else { return }
        isReconnecting = true
        connect { link in
            guard self.lifeline != nil else {
                self.lifeline = link
                let waiting = self.waitingForLifeline
                self.waitingForLifeline = []
                for action in waiting { action(link) }
                self.isReconnecting = false
                return self.reconnect()
            }
            self.releaseStrays(on: link) { isDone in
                self.isReconnecting = false
                if isDone { self.use(link) }
                self.reconnect()
            }
        }
    }

    /// Gives back stray claims.
    private func releaseStrays(on link: SimulatedLink, then: @escaping (Bool) -> Void) {
        let flights = state.schedule.heldClaims
        let worker = state.lease.id
        link.ask(self) {
            $0.strays(of: worker, knowing: flights)
        } then: { answer in
            guard case .success(let strays) = answer else { return then(false) }
            guard !strays.isEmpty else { return then(true) }
            link.ask(self) {
                $0.release(strays, of: worker)
            } then: {
                then((try? $0.get()) != nil)
            }
        }
    }

    /// A statement failed.
    func failed(_ loss: SimulatedLink.Loss, on link: SimulatedLink) {
        guard loss == .unanswered else { return }
        if lifeline === link { lifeline = nil }
        if self.link === link {
            self.link = nil
            state.reconnection.disconnected(at: now, isOwnFault: false)
        }
        if state.phase != .over { reconnect() }
    }

    func withDatabase(_ action: @escaping (SimulatedLink) -> Void) {
        guard isAlive, state.phase != .over else { return }
        if let link { action(link) } else { waiting.append(action) }
    }

    private func withLifeline(_ action: @escaping (SimulatedLink) -> Void) {
        guard isAlive, state.phase != .over else { return }
        if let lifeline { action(lifeline) } else { waitingForLifeline.append(action) }
    }

    // MARK: The lease

    private func register(on link: SimulatedLink, then: @escaping (Bool) -> Void) {
        let askedAt = now
        let lease = state.options.lease.nanoseconds / 1000
        link.ask(self) {
            $0.register(lease: lease)
        } then: { answer in
            guard case .success(let id) = answer else { return then(false) }
            self.state.lease.registered(as: id, askedAt: askedAt)
            self.permit = SendingPermit(until: self.state.lease.end ?? askedAt)
            then(true)
        }
    }

    func renewLease(on link: SimulatedLink, then: @escaping (Bool) -> Void) {
        let askedAt = now
        let worker = state.lease.id
        let lease = state.options.lease.nanoseconds / 1000
        link.ask(self) {
            $0.heartbeat(worker, lease: lease)
        } then: { answer in
            guard case .success(let alive) = answer else { return then(false) }
            guard worker == self.state.lease.id, !self.isRegisteringAgain else { return then(true) }
            if let alive {
                self.state.renewed(workersAlive: alive, askedAt: askedAt)
                if let end = self.state.lease.end { self.permit.extend(until: end) }
                then(true)
            } else {
                self.isRegisteringAgain = true
                self.state.lease.declaredDead()
                self.state.sleep.registeredAgain()
                self.permit.revoke()
                self.register(on: link) { isDone in
                    self.isRegisteringAgain = false
                    then(isDone)
                }
            }
        }
    }

    private func keepLease() {
        after(state.heartbeatWait(at: now)) {
            guard self.state.sleep.isAwake else { return self.keepLease() }
            self.withLifeline { lifeline in
                self.renewLease(on: lifeline) { isDone in
                    self.dispatch()
                    guard !isDone else {
                        self.state.succeeded(in: .heartbeat)
                        return self.keepLease()
                    }
                    self.failed(lifeline.isOpen ? .refused : .unanswered, on: lifeline)
                    self.after(self.state.failed(in: .heartbeat)) { self.keepLease() }
                }
            }
        }
    }

    // MARK: The others

    private func keepWatch() {
        watchOthers { self.after(self.state.watchWait(at: self.now)) { self.keepWatch() } }
    }

    private func watchOthers(then: @escaping () -> Void) {
        guard let lifeline, state.sleep.isAwake else { return then() }
        let worker = state.lease.id
        lifeline.ask(self) {
            $0.heartbeats(butOf: worker)
        } then: { answer in
            switch answer {
            case .failure(let loss):
                self.failed(loss, on: lifeline)
                then()
            case .success(let others):
                let dead = self.state.lease.saw(others, at: self.now)
                self.takeOver(from: dead[...], then: then)
            }
        }
    }

    func takeOver(from dead: ArraySlice<HeartbeatState.Sighting>, then: @escaping () -> Void) {
        guard let next = dead.first else { return then() }
        takeOver(from: next) { self.takeOver(from: dead.dropFirst(), then: then) }
    }

    /// On a connection of its own.
    func takeOver(from dead: HeartbeatState.Sighting?, then: @escaping () -> Void) {
        guard self.link != nil, simulation.databaseIsUp else { return then() }
        let link = newLink()
        link.ask(self) { database in
            let taken = database.takeOver(from: dead)
            self.simulation.tookOver(taken.claims)
            return taken
        } then: { answer in
            var isGone = false
            if case .success(let taken) = answer {
                isGone = taken.workers > 0
                if isGone || !taken.claims.isEmpty { self.state.schedule.forgetFloors() }
            }
            if let dead, !isGone { self.state.lease.couldNotTakeOver(dead.worker, at: self.now) }
            link.cut()
            self.dispatch()
            then()
        }
    }

    // MARK: Stopping

    func drain() {
        guard state.drainRequested() else { return }
        dispatch()
        after(state.options.drainTimeout) {
            guard self.state.giveUpRequested() else { return }
            for number in self.inFlight.keys.sorted() { self.inFlight[number]?.giveUp() }
            self.dispatch()
            self.after(.milliseconds(800)) { self.end() }
        }
    }

    private func end() {
        state.ended()
        die()
    }

    /// Leaves nothing behind.
    func signOff() {
        guard let link, state.phase != .over else { return end() }
        let worker = state.lease.id
        releaseStrays(on: link) { _ in
            link.ask(self, { $0.signOff(worker) }, then: { _ in self.end() })
        }
        state.ended()
    }
}
