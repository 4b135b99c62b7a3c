package import ApplePush
package import IO
package import Postgres

/// Claims messages, has them sent, and writes what became of them, for as long as it is let.
///
/// A task a claim, never a task a push: a claim's pushes go down to the backend as one batch and come back as one. All
/// statements share one pipelined connection. What the worker decides is decided by values, which it owns and feeds:
/// `LaneBoard`, `Admission`, `Lease`, `AppHolds`, `Settlement`.
package actor Worker {
    enum Phase {
        case working
        /// Claims nothing more, and waits for what is in flight.
        case draining
        /// Breaks off what is in flight.
        case givingUp
        /// Waits for nothing any more.
        case over
    }

    package nonisolated let options: WorkerOptions
    nonisolated let backend: any Backend
    nonisolated let loop: EventLoop
    nonisolated let emit: @Sendable (WorkerEvent) -> Void
    nonisolated let ledger = Guarded(WorkerCounters())

    var phase = Phase.working
    /// The number of this incarnation, which fences everything it writes.
    var id: Int64 = 0
    var installation: (UInt64, UInt64) = (0, 0)
    var lease: Lease
    var workersAlive = 1

    var connection: PostgresConnection?
    var waiting: [CheckedContinuation<Void, Never>] = []

    var board: LaneBoard
    var admission: Admission
    var holds = AppHolds()
    var rates = RateLimits()
    var apps = AppDirectory()
    /// Claims that were asked for and not answered yet.
    var asked = 0
    /// Claims that were answered and are not settled yet, by the id of their row in `inflight`.
    var flights: Set<Int64> = []
    /// Counts that are not in `activity` yet.
    var activity: [Int32: Settlement.Tally] = [:]
    /// With `once`: a look from the beginning of every lane has found nothing left to do.
    var hasDrained = false
    var random = SystemRandomNumberGenerator()

    /// Rung when there may be something to claim, or nothing left to wait for.
    let dispatchBell = Bell()
    let lossBell = Bell()
    let surrenderBell = Bell()

    /// The loop outlives the worker, which holds it.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe self.loop.asUnownedSerialExecutor() }

    package init(
        _ options: WorkerOptions,
        backend: any Backend,
        loop: EventLoop,
        events: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.backend = backend
        self.loop = loop
        self.emit = events
        self.lease = Lease(duration: options.lease)
        self.board = LaneBoard(quantum: options.claimSize)
        self.admission = Admission(limit: options.maxInFlight)
    }

    /// What was done so far.
    package nonisolated var counters: WorkerCounters { self.ledger.withLock { $0 } }

    /// Works until it is told to stop or, with `once`, until nothing that is due is left. Throws if it cannot begin.
    package func run() async throws(PostgresError) -> WorkerReport {
        try await self.begin()
        // Tasks begin on the loop too, and never visit another thread on their way.
        await withTaskExecutorPreference(self.loop) { await self.work() }
        return await self.end()
    }

    private func work() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepConnection() }
            group.addTask { await self.keepLease() }
            group.addTask { await self.keepApps() }
            group.addTask { await self.keepHouse() }
            group.addTask { await self.lookForWork() }
            group.addTask { await self.surrender() }
            for await _ in self.dispatchBell.rings {
                while let plan = self.nextClaim() {
                    group.addTask { await self.fly(plan) }
                }
                if self.isDone { break }
            }
            group.cancelAll()
        }
    }

    private var isDone: Bool {
        switch self.phase {
        case .working: self.hasDrained
        case .draining, .givingUp: self.asked == 0 && self.flights.isEmpty
        case .over: true
        }
    }

    // MARK: Stopping

    /// Claims nothing more, waits for what is in flight, settles it, and ends. What has not landed in time is given up.
    package nonisolated func drain() {
        self.loop.submit { self.assumeIsolated { $0.beginDraining() } }
    }

    /// Breaks off what is in flight and ends within a second. Unsent jobs can be claimed again at once.
    package nonisolated func giveUp() {
        self.loop.submit { self.assumeIsolated { $0.beginGivingUp() } }
    }

    private func beginDraining() {
        guard self.phase == .working else { return }
        self.phase = .draining
        self.emit(.draining)
        self.dispatchBell.ring()
        self.after(self.options.drainTimeout) { $0.beginGivingUp() }
    }

    private func beginGivingUp() {
        guard self.phase == .working || self.phase == .draining else { return }
        self.phase = .givingUp
        self.emit(.gaveUp)
        self.surrenderBell.ring()
        self.dispatchBell.ring()
        self.after(.milliseconds(800)) { $0.stopWaiting() }
    }

    /// Whatever is not settled by now, others will take over when the lease has run out.
    private func stopWaiting() {
        self.phase = .over
        self.wakeWaiting()
        self.dispatchBell.ring()
        self.surrenderBell.ring()
    }

    private func after(_ wait: Duration, _ action: @escaping @Sendable (isolated Worker) -> Void) {
        _ = self.loop.schedule(at: .now + wait) { [weak self] in self?.assumeIsolated { action($0) } }
    }

    /// Ends every push that is in the air, when it comes to that; then those who wait for their outcomes get them.
    private func surrender() async {
        for await _ in self.surrenderBell.rings {
            if self.phase == .over { await self.connection?.close() } else { await self.backend.shutdown() }
        }
    }

    private func end() async -> WorkerReport {
        let isSettled = self.asked == 0 && self.flights.isEmpty
        let isSignedOff = await self.signOff()
        self.phase = .over
        await self.connection?.close()
        self.connection = nil
        self.emit(.ended)
        let counters = self.counters
        return WorkerReport(
            counters: counters,
            isClean: isSettled && isSignedOff,
            troubles: self.holds.troubles.map { ($0.app, counters.names[$0.app] ?? "\($0.app)", $0.trouble) }
        )
    }

    func count(_ change: (inout WorkerCounters) -> Void) {
        self.ledger.withLock { counters in
            change(&counters)
            counters.inFlight = self.admission.inFlight
        }
    }
}
