package import ApplePush
package import IO
package import Postgres

/// Claims messages, has them sent, and writes their outcomes.
///
/// There is a task for each claim and none for a push: the pushes of a claim go to the backend as one batch and come back as
/// one. All work shares one pipelined connection. Heartbeats have their own, where they wait behind nothing. `Worker` is the
/// shell, which waits for the database, the backend and the time. `WorkerState` decides.
package actor Worker {
    package nonisolated let options: WorkerOptions
    nonisolated let backend: any Backend
    nonisolated let loop: EventLoop
    nonisolated let madeAt = MonotonicInstant.now
    /// A limit that the workers of this process share, beside its own.
    private nonisolated let share: FlightCeiling.Share?
    private nonisolated let emit: @Sendable (WorkerEvent) -> Void
    nonisolated let ledger = Guarded(WorkerCounters())

    var state: WorkerState
    /// Ends with the lease. What waits in the backend then is not sent.
    var permit = SendingPermit(for: .zero)
    /// Shared by all work.
    var connection: PostgresConnection?
    /// For heartbeats, its own and those of the others.
    var lifeline: PostgresConnection?
    /// Other connections, and what they are for.
    var purposes: Set<Purpose> = []
    var ownConnections: [Purpose: PostgresConnection] = [:]
    var detourTurns = TurnsByApp<CheckedContinuation<Void, Never>>()
    /// See `supplied(_:)`.
    var suppliedCredentials: [Credential: Credential] = [:]
    /// Legacy feedback lists that were being read when the database was lost.
    var feedbackLists: FeedbackLists?
    /// Large statements that are under way, and those that wait for a turn.
    var largeStatements = 0
    var inLine: ArraySlice<CheckedContinuation<Void, Never>> = []
    /// Locks that statements met, to be told with their holders.
    var metLocks: ArraySlice<MetLock> = []
    /// Tasks that wait for a connection.
    var waiting: [CheckedContinuation<Void, Never>] = []

    /// Rung when there may be something to claim, or nothing left to wait for.
    let dispatchBell = Bell()
    let lossBell = Bell()
    let lifelineBell = Bell()
    let notesBell = Bell()
    let lockBell = Bell()
    let surrenderBell = Bell()

    /// The loop outlives the worker, which holds it.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    package init(
        _ options: WorkerOptions,
        backend: any Backend,
        loop: EventLoop,
        share: FlightCeiling.Share? = nil,
        events: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.backend = backend
        self.loop = loop
        self.share = share
        emit = events
        state = WorkerState(options, seed: .random(in: .min ... .max))
    }

    package nonisolated var counters: WorkerCounters { ledger.withLock { $0 } }

    /// Works until it is told to stop or, with `once`, until nothing is due. Throws if it cannot begin.
    package func run() async throws(PostgresError) -> WorkerReport {
        try await begin()
        // So that tasks also begin on the loop, and do not visit another thread.
        await withTaskExecutorPreference(loop) { await work() }
        return await end()
    }

    private func work() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepConnections() }
            group.addTask { await self.keepLease() }
            group.addTask { await self.keepWatch() }
            group.addTask { await self.keepNotes() }
            group.addTask { await self.keepLockNews() }
            group.addTask { await self.keepApps() }
            group.addTask { await self.lookForWork() }
            for task in MaintenanceTask.all { group.addTask { await self.keep(task) } }
            group.addTask { await self.surrender() }
            for await _ in dispatchBell.rings {
                while let plan = nextClaim() {
                    group.addTask { await self.fly(plan) }
                }
                if state.isDone { break }
            }
            group.cancelAll()
            // Statements that wait for a lock there do not delay the end.
            await lifeline?.close()
            for connection in ownConnections.values { await connection.close() }
        }
    }

    private func nextClaim() -> ClaimPlan? {
        let now = MonotonicInstant.now
        guard let share else { return state.nextClaim(at: now) }
        let room = share.reserve(holding: state.inFlight, at: now)
        defer { share.hold(state.inFlight) }
        return state.nextClaim(at: now, within: room)
    }

    // MARK: Stopping

    /// Claims nothing more, settles what is in flight, and ends. What has not ended in time is given up.
    package nonisolated func drain() {
        loop.submit { self.assumeIsolated { $0.beginDraining() } }
    }

    /// Breaks off what is in flight and ends within a second. Unsent jobs can be claimed again at once.
    package nonisolated func giveUp() {
        loop.submit { self.assumeIsolated { $0.beginGivingUp() } }
    }

    private func beginDraining() {
        guard state.toldToDrain() else { return }
        tell(.draining)
        dispatchBell.ring()
        after(options.drainTimeout) { $0.beginGivingUp() }
    }

    private func beginGivingUp() {
        guard state.toldToGiveUp() else { return }
        tell(.gaveUp)
        surrenderBell.ring()
        dispatchBell.ring()
        after(.milliseconds(800)) { $0.stopWaiting() }
    }

    func stopWaiting() {
        state.stoppedWaiting()
        wakeWaiting()
        dispatchBell.ring()
        surrenderBell.ring()
    }

    private func after(_ wait: Duration, _ action: @escaping @Sendable (isolated Worker) -> Void) {
        _ = loop.schedule(at: .now + wait) { [weak self] in self?.assumeIsolated { action($0) } }
    }

    /// When the worker gives up, ends every push in flight, so that its flight gets the outcomes.
    private func surrender() async {
        await withDiscardingTaskGroup { group in
            for await _ in surrenderBell.rings {
                if state.phase == .over {
                    await connection?.close()
                } else {
                    // It may wait for a provider token, and that for the database.
                    group.addTask { await self.backend.shutdown() }
                }
            }
        }
    }

    private func end() async -> WorkerReport {
        let isSettled = state.isIdle
        let isSignedOff = await signOff()
        state.stoppedWaiting()
        await connection?.close()
        connection = nil
        tellMetLocks()
        tell(.ended)
        let counters = self.counters
        return WorkerReport(
            counters: counters,
            isClean: isSettled && isSignedOff,
            troubles: state.limits.holds.troubles.map {
                ($0.app, counters.names[$0.app] ?? "\($0.app)", $0.trouble)
            }
        )
    }

    // MARK: Telling

    func tell(_ event: WorkerEvent) {
        count { $0.heard(event) }
        emit(event)
        switch event {
        case .trouble, .troubleOver: notesBell.ring()
        default: break
        }
    }

    func count(_ change: (inout WorkerCounters) -> Void) {
        ledger.withLock { counters in
            change(&counters)
            counters.inFlight = state.inFlight
        }
    }
}
