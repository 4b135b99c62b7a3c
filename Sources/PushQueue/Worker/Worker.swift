package import ApplePush
package import CarillonIO
package import CarillonPostgres

/// Claims jobs, has their pushes sent, and writes the outcomes.
///
/// There is a task for each claim and none for a push: the pushes of a claim go to the backend as one batch, and their
/// outcomes come back as one. All work shares one pipelined connection. Heartbeats have their own, so they wait behind no
/// other statement. `Worker` waits for the database, the backend and timers; `WorkerState` decides.
package actor Worker {
    package struct Summary: Sendable {
        package let counters: WorkerCounters
        /// All claims are settled, and the worker's row is gone.
        package let isClean: Bool
        /// Apps that could not send. Their messages wait.
        package let troubles: [(app: Int32, name: String, trouble: Trouble)]
    }

    package nonisolated let options: WorkerOptions
    nonisolated let backend: any Backend
    nonisolated let loop: EventLoop
    nonisolated let madeAt = MonotonicInstant.now
    /// The limit that the workers of this process share, beside their own.
    private nonisolated let share: FlightCeiling.Share?
    nonisolated let ledger: Ledger

    let core: Core
    let database: WorkerDatabase
    /// Ends with the lease: pushes that wait in the backend are then not sent.
    var permit = SendingPermit(for: .zero)
    /// See `supplied(_:)`.
    var suppliedCredentials: [Credential: Credential] = [:]
    /// Legacy feedback lists whose reading was interrupted when the connection was lost.
    var feedbackLists: FeedbackLists?
    /// Channels that Apple has made, until they are recorded.
    var unrecordedChannels: ArraySlice<UnrecordedChannel> = []
    let notesBell: Bell

    /// The worker holds the loop, so the loop outlives it.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package init(
        _ options: WorkerOptions,
        backend: any Backend,
        loop: EventLoop,
        share: FlightCeiling.Share? = nil,
        traffic: @escaping @Sendable () -> Traffic = { Traffic() },
        events: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.backend = backend
        self.loop = loop
        self.share = share
        let notesBell = Bell()
        self.notesBell = notesBell
        let ledger = Ledger(traffic: traffic) { event in
            events(event)
            switch event {
            case .trouble, .troubleOver: notesBell.ring()
            default: break
            }
        }
        self.ledger = ledger
        let core = Core(options, on: loop)
        self.core = core
        database = WorkerDatabase(core, ledger)
    }

    package nonisolated var counters: WorkerCounters { ledger.counters }

    /// Runs until `drain` or `giveUp` or, with `once`, until no message is due. Throws if it cannot begin.
    package func run() async throws(PostgresError) -> Summary {
        try await database.begin { lifeline throws(PostgresError) in try await begin(on: lifeline) }
        ledger.log(.started(worker: core.state.id))
        // Tasks then also begin on the loop, without a hop.
        await withTaskExecutorPreference(loop) { await work() }
        return await end()
    }

    private func work() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepConnections() }
            group.addTask { await self.keepLease() }
            group.addTask { await self.keepWatch() }
            group.addTask { await self.keepNotes() }
            group.addTask { await self.logLocks() }
            group.addTask { await self.keepApps() }
            group.addTask { await self.lookForWork() }
            for task in MaintenanceTask.all { group.addTask { await self.keep(task) } }
            group.addTask { await self.shutDownBackend() }
            for await _ in core.dispatchBell.rings {
                while let plan = nextClaim() { group.addTask { await self.runFlight(plan) } }
                if core.state.isDone { break }
            }
            group.cancelAll()
            await database.closeOthers()
        }
    }

    private func keepConnections() async {
        await database.keepConnections { connection throws(PostgresError) in try await reconnected(on: connection) }
    }

    private func logLocks() async { await database.logLocks() }

    private func nextClaim() -> ClaimPlan? {
        let now = MonotonicInstant.now
        guard let share else { return core.event { $0.nextClaim(at: now) } }
        let room = share.reserve(holding: core.state.inFlight, at: now)
        defer { share.hold(core.state.inFlight) }
        return core.event { $0.nextClaim(at: now, within: room) }
    }

    // MARK: Stopping

    /// Claims nothing more, settles what is in flight, and ends; gives up after `drainTimeout`.
    package nonisolated func drain() { loop.submit { self.assumeIsolated { $0.beginDraining() } } }

    /// Abandons pushes in flight, and ends within a second. Unsent jobs can be claimed again at once.
    package nonisolated func giveUp() { loop.submit { self.assumeIsolated { $0.beginGivingUp() } } }

    private func beginDraining() {
        guard core.event({ $0.drainRequested() }) else { return }
        ledger.log(.draining)
        core.dispatchBell.ring()
        after(options.drainTimeout) { $0.beginGivingUp() }
    }

    private func beginGivingUp() {
        guard core.event({ $0.giveUpRequested() }) else { return }
        ledger.log(.gaveUp)
        core.shutdownBell.ring()
        core.dispatchBell.ring()
        after(.milliseconds(800)) { $0.core.stopWaiting() }
    }

    private func after(_ wait: Duration, _ action: @escaping @Sendable (isolated Worker) -> Void) {
        _ = loop.schedule(at: .now + wait) { [weak self] in self?.assumeIsolated { action($0) } }
    }

    /// When the worker gives up, shuts down the backend, so that every flight gets its outcomes.
    private func shutDownBackend() async {
        await withDiscardingTaskGroup { group in
            for await _ in core.shutdownBell.rings {
                if core.state.phase == .over {
                    await database.stopWaiting()
                } else {
                    // A task of its own: the shutdown may wait for a provider token, which waits for the database.
                    group.addTask { await self.backend.shutdown() }
                }
            }
        }
    }

    private func end() async -> Summary {
        let isSettled = core.state.isIdle
        let isSignedOff = await signOff()
        core.event { $0.stoppedWaiting() }
        await database.end()
        ledger.log(.ended)
        let counters = self.counters
        return Summary(
            counters: counters,
            isClean: isSettled && isSignedOff,
            troubles: core.state.limits.holds.troubles.map {
                ($0.app, counters.names[$0.app] ?? "\($0.app)", $0.trouble)
            }
        )
    }
}
