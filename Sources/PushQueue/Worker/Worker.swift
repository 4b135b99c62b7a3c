package import ApplePush
package import CarillonIO
package import CarillonPostgres

/// Claims jobs, has their pushes sent, and writes the outcomes.
///
/// There is a task for each claim and none for a push: the pushes of a claim go to the backend as one batch, and their
/// outcomes come back as one. Claims and settlements share one pipelined connection. Heartbeats have their own, so they wait
/// behind no other statement. `Worker` waits for the database, the backend and timers; `WorkerState` decides.
package actor Worker {
    package struct Summary: Sendable {
        package let counters: WorkerCounters
        /// All claims are settled, and the worker's row is gone.
        package let isClean: Bool
        /// Apps that could not send. Their messages wait.
        package let holds: [(app: Int32, name: String, hold: Hold)]
    }

    package nonisolated let options: WorkerOptions
    private nonisolated let backend: any Backend
    private nonisolated let loop: EventLoop
    private nonisolated let meter: WorkerMeter
    /// The limit that the workers of this process share, beside their own.
    private nonisolated let ceiling: FlightCeiling.Member?
    /// The workers of this process; nil if it is the only one.
    private nonisolated let peers: WorkerPeers?

    private let context: WorkerContext
    private let database: WorkerDatabase
    private let lease: LeaseKeeper
    private let sleepKeeper: SleepKeeper
    private let apps: AppWatch
    private let lookout: Lookout
    private let flights: FlightRunner
    private let pushCounts: PushCountWriter
    private let maintenance: MaintenanceRunner

    /// The worker keeps the loop, so the loop outlives it.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package init(
        _ options: WorkerOptions,
        backend: any Backend,
        loop: EventLoop,
        ceiling: FlightCeiling.Member? = nil,
        peers: WorkerPeers? = nil,
        traffic: @escaping @Sendable () -> Traffic = { Traffic() },
        events: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.backend = backend
        self.loop = loop
        self.ceiling = ceiling
        self.peers = peers
        meter = WorkerMeter(traffic: traffic, events: events)
        context = WorkerContext(options, on: loop, backend, meter)
        database = WorkerDatabase(context)
        lease = LeaseKeeper(context, database)
        sleepKeeper = SleepKeeper(context, database, lease)
        apps = AppWatch(context, database)
        lookout = Lookout(context, database, sleepKeeper, apps)
        pushCounts = PushCountWriter(context, database, apps)
        flights = FlightRunner(context, database, apps, pushCounts)
        maintenance = MaintenanceRunner(
            MaintenanceTools(
                context: context,
                database: database,
                lease: lease,
                lookout: lookout,
                pushCounts: pushCounts,
                legacyFeedback: LegacyFeedbackReader(context),
                channels: ChannelKeeper(context)
            )
        )
        peers?.join(self)
    }

    package nonisolated var counters: WorkerCounters { meter.counters }

    /// Runs until `drain` or `giveUp` or, with `once`, until no message is due. Throws if it cannot begin.
    /// - Parameter check: Done before the worker is registered.
    package func run(
        checking check: @Sendable (PostgresConnection) async throws -> Void = { _ in }
    ) async throws -> Summary {
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await self.watchSilence() }
            defer { group.cancelAll() }
            try await database.begin { lifeline in
                try await check(lifeline)
                try await lease.begin(on: lifeline)
            } preparing: { connection in
                await sleepKeeper.listen(on: connection)
            }
            context.log(.started(worker: context.state.lease.id, version: options.version))
            // Tasks then also begin on the loop, without a hop.
            await withTaskExecutorPreference(loop) { await work() }
            return await end()
        }
    }

    /// Also while the worker begins and ends. The group is the worker's, because the body of a group that a part opened would leave
    /// the loop.
    private func watchSilence() async {
        await withDiscardingTaskGroup { group in
            var states: [ServerAddress: SilenceState] = [:]
            while await context.sleep(for: database.silenceLimit / SilenceState.observations) {
                for connection in await database.lookForSilence(&states) {
                    group.addTask { _ = try? await connection.execute(WorkerDatabase.probe) }
                }
            }
        }
    }

    /// What goes on as long as the worker runs.
    private static let duties: [@Sendable (isolated Worker) async -> Void] = [
        { await $0.keepConnections() },
        { await $0.lease.keepLease() },
        { await $0.lease.keepWatch() },
        { await $0.lease.keepTakingOver() },
        { await $0.apps.keepNotes() },
        { await $0.database.logLocks() },
        { await $0.apps.keepApps() },
        { await $0.lookForWork() },
        { await $0.sleepKeeper.keepHearing() },
        { await $0.shutDownBackend() },
    ]

    private func work() async {
        await withDiscardingTaskGroup { group in
            for duty in Self.duties { group.addTask { await duty(self) } }
            for task in MaintenanceTask.all { group.addTask { await self.keep(task) } }
            for await _ in context.dispatchBell.rings {
                while let plan = nextClaim() { group.addTask { await self.fly(plan) } }
                if context.state.isDone { break }
            }
            group.cancelAll()
            await database.closeOthers()
        }
    }

    private func keepConnections() async {
        await database.keepConnections { connection throws(PostgresError) in
            try await lease.reconnected(on: connection)
            await sleepKeeper.listen(on: connection)
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
        let databases = (await peers?.ordered() ?? [self]).map { worker -> CredentialStatements.TokenAsk in
            { try await worker.providerToken(by: key, refusing: refused, keeping: $0) }
        }
        let (token, isMinted) = try await CredentialStatements.providerToken(by: key, in: databases)
        if isMinted { context.log(.tokenMinted("\(key)")) }
        return token
    }

    private func providerToken(
        by key: ProviderTokenKey,
        refusing refused: ProviderToken?,
        keeping kept: ProviderToken?
    ) async throws -> (ProviderToken?, now: Int64)? {
        try await apps.providerToken(by: key, refusing: refused, keeping: kept)
    }

    /// Waits until the worker is connected, at most until then. Zero if it never was.
    func installation(by end: MonotonicInstant) async -> (UInt64, UInt64) {
        while database.shared == nil, context.state.phase != .over, .now < end {
            guard await context.sleep(for: .milliseconds(20)) else { break }
        }
        return context.state.lease.installation
    }

    /// Takes a try of what PostgreSQL refuses, for statements that are not the worker's own; if there is none, returns the wait until
    /// there is. It leaves one to the worker.
    package func takeTry() -> Duration? { context.event { $0.refusals.takeOrWait(at: .now, leaving: 1) } }

    /// PostgreSQL has refused such a statement, which was no try.
    package func spendTry() { context.event { $0.refusals.spend(at: .now) } }

    private func nextClaim() -> ClaimPlan? {
        let now = MonotonicInstant.now
        guard let ceiling else { return context.event { $0.nextClaim(at: now) } }
        let room = ceiling.reserve(inFlight: context.state.schedule.inFlight, at: now)
        defer { ceiling.record(inFlight: context.state.schedule.inFlight) }
        return context.event { $0.nextClaim(at: now, within: room) }
    }

    // MARK: Stopping

    /// Claims nothing more, settles what is in flight, and ends; gives up after `drainTimeout`.
    package nonisolated func drain() { loop.submit { self.assumeIsolated { $0.beginDraining() } } }

    /// Abandons pushes in flight, and ends within `giveUpTimeout`. Unsent jobs can be claimed again at once.
    package nonisolated func giveUp() { loop.submit { self.assumeIsolated { $0.beginGivingUp() } } }

    private func beginDraining() {
        guard context.event({ $0.drainRequested() }) else { return }
        context.log(.draining)
        context.dispatchBell.ring()
        after(options.drainTimeout) { $0.beginGivingUp() }
    }

    private func beginGivingUp() {
        guard context.event({ $0.giveUpRequested() }) else { return }
        context.count { $0.hasGivenUp = true }
        context.log(.gaveUp)
        context.shutdownBell.ring()
        context.dispatchBell.ring()
        after(options.giveUpTimeout) { $0.context.end() }
    }

    private func after(_ wait: Duration, _ action: @escaping @Sendable (isolated Worker) -> Void) {
        _ = loop.schedule(at: .now + wait) { [weak self] in self?.assumeIsolated { action($0) } }
    }

    /// When the worker gives up, shuts down the backend, so that every flight gets its outcomes.
    private func shutDownBackend() async {
        await withDiscardingTaskGroup { group in
            for await _ in context.shutdownBell.rings {
                if context.state.phase == .over {
                    await database.stopWaiting()
                } else {
                    // A task of its own: the shutdown may wait for a provider token, which waits for the database.
                    group.addTask { await self.backend.shutdown() }
                }
            }
        }
    }

    private func end() async -> Summary {
        let isSettled = context.state.schedule.isIdle
        let isSignedOff = await signOff()
        context.event { $0.ended() }
        await database.end()
        context.log(.ended)
        let counters = self.counters
        return Summary(
            counters: counters,
            isClean: isSettled && isSignedOff,
            holds: context.state.holds.all.map { ($0.app, counters.name(of: $0.app), $0.hold) }
        )
    }

    /// Returns whether the worker's row is gone, and it has no claims.
    private func signOff() async -> Bool {
        guard context.state.phase != .over, let connection = database.shared else { return false }
        do throws(PostgresError) {
            try await pushCounts.write(on: connection)
            try await apps.writeNotes(on: connection)
            // After a run with `once`, holds stay until the next run, so that people can read them.
            if !options.once { try await apps.endHolds(on: connection) }
            try await sleepKeeper.signOff(on: connection)
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
