package import ApplePush
package import CarillonIO
package import CarillonPostgres

/// Claims jobs, has their pushes sent, and writes the outcomes.
///
/// There is a task for each claim and none for a push: the pushes of a claim go to the backend as one batch, and their
/// outcomes come back as one. All work shares one pipelined connection. Heartbeats have their own, so they wait behind no
/// other statement. `Worker` waits for the database, the backend and timers; `WorkerState` decides.
package actor Worker {
    package nonisolated let options: WorkerOptions
    private nonisolated let backend: any Backend
    private nonisolated let loop: EventLoop
    private nonisolated let ledger: Ledger
    /// The limit that the workers of this process share, beside their own.
    private nonisolated let allowance: FlightCeiling.Allowance?

    private let core: Core
    private let database: WorkerDatabase
    private let lease: LeaseKeeper
    private let apps: AppWatch
    private let lookout: Lookout
    private let flights: FlightRunner
    private let breakers: BreakerWatch
    private let maintenance: MaintenanceRunner

    /// The worker holds the loop, so the loop outlives it.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package init(
        _ options: WorkerOptions,
        backend: any Backend,
        loop: EventLoop,
        allowance: FlightCeiling.Allowance? = nil,
        traffic: @escaping @Sendable () -> Traffic = { Traffic() },
        events: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.backend = backend
        self.loop = loop
        self.allowance = allowance
        let notesBell = Bell()
        let ledger = Ledger(traffic: traffic) { event in
            events(event)
            if event.kind == .held || event.kind == .holdEnded { notesBell.ring() }
        }
        self.ledger = ledger
        let core = Core(options, on: loop)
        let database = WorkerDatabase(core, ledger)
        let lease = LeaseKeeper(core, ledger, database)
        let apps = AppWatch(core, ledger, database, backend, notesBell: notesBell)
        let lookout = Lookout(core, ledger, database, apps)
        let breakers = BreakerWatch(core, ledger, database, apps)
        self.core = core
        self.database = database
        self.lease = lease
        self.apps = apps
        self.lookout = lookout
        self.breakers = breakers
        flights = FlightRunner(core, ledger, database, lease, apps, breakers, backend)
        maintenance = MaintenanceRunner(
            MaintenanceContext(core, ledger, database, lease, lookout, breakers, backend)
        )
    }

    package nonisolated var counters: WorkerCounters { ledger.counters }

    /// Runs until `drain` or `giveUp` or, with `once`, until no message is due. Throws if it cannot begin.
    package func run() async throws(PostgresError) -> Summary {
        try await database.begin { lifeline throws(PostgresError) in try await lease.begin(on: lifeline) }
        ledger.log(.started(worker: core.state.lease.id, version: options.version))
        // Tasks then also begin on the loop, without a hop.
        await withTaskExecutorPreference(loop) { await work() }
        return await end()
    }

    /// What goes on as long as the worker runs.
    private static let duties: [@Sendable (isolated Worker) async -> Void] = [
        { await $0.keepConnections() },
        { await $0.lease.keepLease() },
        { await $0.lease.keepWatch() },
        { await $0.apps.keepNotes() },
        { await $0.database.logLocks() },
        { await $0.apps.keepApps() },
        { await $0.lookForWork() },
        { await $0.shutDownBackend() },
    ]

    private func work() async {
        await withDiscardingTaskGroup { group in
            for duty in Self.duties { group.addTask { await duty(self) } }
            for task in MaintenanceTask.all { group.addTask { await self.keep(task) } }
            for await _ in core.dispatchBell.rings {
                while let plan = nextClaim() { group.addTask { await self.fly(plan) } }
                if core.state.isDone { break }
            }
            group.cancelAll()
            await database.closeOthers()
        }
    }

    private func keepConnections() async {
        await database.keepConnections { connection throws(PostgresError) in
            try await lease.reconnected(on: connection)
        }
    }

    private func lookForWork() async {
        await lease.watchOthers()
        await lease.takeOverOrphans()
        await lookout.keepLooking()
    }

    private func keep(_ task: MaintenanceTask) async { await maintenance.keep(task) }

    private func fly(_ plan: ClaimPlan) async { await flights.run(plan, for: self) }

    /// For deliveries, which ask from their own threads.
    func providerToken(_ key: ProviderTokenKey, refusing refused: ProviderToken?) async throws -> ProviderToken {
        try await apps.providerToken(key, refusing: refused)
    }

    private func nextClaim() -> ClaimPlan? {
        let now = MonotonicInstant.now
        guard let allowance else { return core.event { $0.nextClaim(at: now) } }
        let room = allowance.reserve(holding: core.state.schedule.inFlight, at: now)
        defer { allowance.hold(core.state.schedule.inFlight) }
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
        let isSettled = core.state.schedule.isIdle
        let isSignedOff = await signOff()
        core.event { $0.stoppedWaiting() }
        await database.end()
        ledger.log(.ended)
        let counters = self.counters
        return Summary(
            counters: counters,
            isClean: isSettled && isSignedOff,
            holds: core.state.holds.all.map {
                ($0.app, counters.names[$0.app] ?? "\($0.app)", $0.hold)
            }
        )
    }

    /// True: the worker's row is gone, and it has no claims.
    private func signOff() async -> Bool {
        guard core.state.phase != .over, let connection = database.current else { return false }
        do throws(PostgresError) {
            try await breakers.writeCounts(on: connection)
            try await apps.writeNotes(on: connection)
            // After a run with `once`, holds stay until the next run, so that people can read them.
            if !options.once {
                try await connection.execute(WorkerStatements.endHolds, Parameters(core.state.lease.id))
            }
        } catch {
            // The worker can sign off without this.
            database.failed(error, on: connection)
        }
        do throws(PostgresError) {
            return try await lease.signOff(on: connection)
        } catch {
            database.failed(error, on: connection)
            return false
        }
    }
}
