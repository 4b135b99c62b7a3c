import CarillonIO

/// The pools of a backend, one for each gateway and credential, and the event loops that they share.
///
/// A call inside a pool keeps this object alive, and with it the loops.
final class ConnectionPools: Sendable {
    struct Key: Hashable {
        let gateway: Gateway
        let credential: [UInt8]

        init(_ gateway: Gateway, _ credential: Credential) {
            self.gateway = gateway
            self.credential = credential.digest
        }
    }

    private struct State {
        var pools: [Key: ConnectionPool] = [:]
        var loops: EventLoopGroup?
        var isShutDown = false
        /// The number of calls inside a pool. The loops are stopped after the last of them.
        var calls = 0
        var waitingForCalls: [CheckedContinuation<Void, Never>] = []
    }

    private let limits: ConnectionPool.Limits
    private let threads: Int
    private let ownsLoops: Bool
    private let observer: (any APNs.Observer)?
    private let wire: @Sendable (Gateway) -> any Wire
    private let state: Guarded<State>
    private let meter = TrafficMeter()

    /// - Parameter loops: loops that belong to another owner; nil to create its own when needed, and stop them.
    init(
        _ limits: ConnectionPool.Limits,
        threads: Int,
        observer: (any APNs.Observer)?,
        on loops: EventLoopGroup?,
        wire: @escaping @Sendable (Gateway) -> any Wire
    ) {
        self.limits = limits
        self.threads = max(1, threads)
        self.observer = observer
        self.wire = wire
        ownsLoops = loops == nil
        state = Guarded(State(loops: loops))
    }

    deinit {
        guard ownsLoops, let loops = state.withLock({ $0.loops.take() }) else { return }
        for loop in loops.loops { loop.stop() }
        // The last reference may be dropped on one of the loops, which cannot wait for itself.
        for loop in loops.loops where !loop.isCurrent { loop.join() }
    }

    var traffic: Traffic { meter.reading }

    /// The loops that belong to another owner.
    var sharedLoops: EventLoopGroup? { ownsLoops ? nil : state.withLock { $0.loops } }

    func deliver(
        _ batch: PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        _ terms: DeliveryTerms
    ) async -> Delivered {
        let count = batch.count
        if count == 0 { return Delivered(Outcomes(repeating: .accepted, count: 0)) }
        do throws(PushError) {
            while true {
                let pool = try enter(gateway, credential)
                defer { leave() }
                if let delivered = await pool.deliver(batch, with: credential, terms, for: self) { return delivered }
                forget(pool, Key(gateway, credential))
            }
        } catch {
            var outcomes = Outcomes(repeating: OutcomeRules.outcome(of: .neverSubmitted), count: count)
            outcomes.connectFailure = error
            return Delivered(outcomes)
        }
    }

    func prepare(for gateway: Gateway, with credential: Credential) async {
        // If there is no pool, there is nothing to wait for: the next delivery returns the error.
        while let pool = try? enter(gateway, credential) {
            defer { leave() }
            if await pool.prepare(with: credential, for: self) { return }
            forget(pool, Key(gateway, credential))
        }
    }

    /// Reads a list over a connection that is used for nothing else.
    func feedback(
        from gateway: Gateway,
        with credential: Credential,
        longestSilence: Duration
    ) async throws(PushError) -> LegacyFeedbackList {
        let source = try await LegacyFeedbackConnection.open(
            to: gateway,
            with: credential,
            limits,
            longestSilence: longestSilence,
            on: try loop(),
            of: self
        )
        return LegacyFeedbackList(source)
    }

    func outdate(idle: Duration) async {
        for (key, pool) in enterAll() where await pool.outdate(idle: idle) { forget(pool, key) }
        leave()
    }

    func outdate(credential: Credential) async {
        for (key, pool) in enterAll() where key.credential == credential.digest { await pool.credentialReplaced() }
        leave()
    }

    func shutdown() async {
        let (pools, loops) = state.withLock { state in
            state.isShutDown = true
            defer { state.pools = [:] }
            return (state.pools.values, ownsLoops ? state.loops.take() : nil)
        }
        for pool in pools { await pool.shutdown() }
        await withCheckedContinuation { continuation in
            let isLast = state.withLock { state in
                if state.calls > 0 { state.waitingForCalls.append(continuation) }
                return state.calls == 0
            }
            if isLast { continuation.resume() }
        }
        loops?.shutdown()
    }

    /// A loop for a connection that belongs to no pool.
    func loop() throws(PushError) -> EventLoop {
        try state.withLock { state throws(PushError) in
            if state.isShutDown { throw PushError.shutDown }
            return try nextLoop(&state)
        }
    }

    /// Removes a pool that was outdated after it had been found.
    private func forget(_ pool: ConnectionPool, _ key: Key) {
        state.withLock { if $0.pools[key] === pool { $0.pools[key] = nil } }
    }

    /// `leave` must follow.
    private func enter(_ gateway: Gateway, _ credential: Credential) throws(PushError) -> ConnectionPool {
        try state.withLock { state throws(PushError) in
            if state.isShutDown { throw PushError.shutDown }
            let key = Key(gateway, credential)
            if let pool = state.pools[key] {
                state.calls += 1
                return pool
            }
            let loop = try nextLoop(&state)
            let pool = ConnectionPool(
                to: gateway,
                with: credential,
                wire(gateway),
                limits,
                meter: meter,
                observer: observer,
                on: loop
            )
            state.pools[key] = pool
            state.calls += 1
            return pool
        }
    }

    /// `leave` must follow.
    private func enterAll() -> [Key: ConnectionPool] {
        state.withLock { state in
            state.calls += 1
            return state.pools
        }
    }

    private func leave() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.calls -= 1
            guard state.calls == 0 else { return [] }
            defer { state.waitingForCalls = [] }
            return state.waitingForCalls
        }
        for continuation in waiting { continuation.resume() }
    }

    private func nextLoop(_ state: inout State) throws(PushError) -> EventLoop {
        if let loops = state.loops { return loops.next() }
        do {
            let loops = try EventLoopGroup(count: threads, name: "push")
            state.loops = loops
            return loops.next()
        } catch {
            throw PushError(.unreachable, "No thread to send on could be started: \(error).", underlying: error)
        }
    }
}
