package import IO

/// Carries pushes to APNs over HTTP/2, on warm connections: one pool for each gateway and credential.
///
/// A credential that changes is another credential: its pushes go over connections of their own, and those of the old
/// one close when they have been idle for long enough, or at once where `outdate` is told of it.
public final class HTTP2Backend: Backend {
    private struct Shared {
        var pools: [PoolKey: ConnectionPool] = [:]
        var loops: EventLoopGroup?
        var isShutDown = false
        /// How many calls are in a pool; the threads end after the last of them.
        var calls = 0
        /// Those who wait for that.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let configuration: HTTP2Configuration
    private let ownsLoops: Bool
    private let shared: Guarded<Shared>
    private let meter = TrafficMeter()

    /// A backend without connections and threads: they are made when something is sent.
    public init(_ configuration: HTTP2Configuration = HTTP2Configuration()) {
        self.configuration = configuration
        ownsLoops = true
        shared = Guarded(Shared())
    }

    /// A backend on loops that belong to somebody else.
    package init(_ configuration: HTTP2Configuration, loops: EventLoopGroup) {
        self.configuration = configuration
        ownsLoops = false
        shared = Guarded(Shared(loops: loops))
    }

    deinit {
        guard ownsLoops, let loops = shared.withLock({ $0.loops.take() }) else { return }
        // Whoever let go last may be on one of the loops, which cannot wait for itself.
        for loop in loops.loops { loop.stop() }
        for loop in loops.loops where !loop.isCurrent { loop.join() }
    }

    /// Sends every push of the batch, on those terms.
    public func deliver(
        _ batch: consuming PushBatch,
        to gateway: Gateway,
        with credential: Credential,
        terms: DeliveryTerms
    ) async -> Delivered {
        let count = batch.count
        if count == 0 { return Delivered(Outcomes(repeating: .delivered, count: 0)) }
        do throws(PushError) {
            while true {
                let pool = try enter(gateway, credential)
                defer { leave() }
                if let delivered = await pool.deliver(batch, with: credential, terms, for: self) { return delivered }
                forget(pool, gateway, credential)
            }
        } catch {
            var outcomes = Outcomes(repeating: OutcomeRules.outcome(of: .neverSubmitted), count: count)
            outcomes.connectFailure = error
            return Delivered(outcomes)
        }
    }

    /// Connects, unless there is a connection that takes pushes, and waits for that.
    public func prepare(for gateway: Gateway, with credential: Credential) async {
        // Without a pool there is nothing to wait for, and the delivery says why.
        while let pool = try? enter(gateway, credential) {
            defer { leave() }
            if await pool.prepare(with: credential, for: self) { return }
            forget(pool, gateway, credential)
        }
    }

    /// What goes on at the moment, and went on so far.
    package var traffic: Traffic { meter.reading }

    /// The list of a gateway of the legacy feedback service, which has nothing to do with HTTP/2: it is read over a
    /// connection of its own, that nothing else goes over.
    public func feedback(from gateway: Gateway, with credential: Credential) async throws(PushError) -> FeedbackList {
        let loop = try self.shared.withLock { shared throws(PushError) in
            if shared.isShutDown { throw PushError.shutDown }
            return try nextLoop(&shared)
        }
        let line = try await FeedbackLine.open(to: gateway, with: credential, configuration, on: loop, of: self)
        return FeedbackList(line)
    }

    /// A backend with the same configuration and connections of its own.
    public func separate() -> HTTP2Backend {
        if !ownsLoops, let loops = shared.withLock({ $0.loops }) {
            HTTP2Backend(configuration, loops: loops)
        } else {
            HTTP2Backend(configuration)
        }
    }

    /// Closes the connections that have been idle for longer than that, and forgets the pools that are empty then.
    public func outdate(idle: Duration) async {
        let pools = self.shared.withLock { shared in
            shared.calls += 1
            return shared.pools
        }
        defer { leave() }
        for (key, pool) in pools where await pool.outdate(idle: idle) {
            self.shared.withLock { if $0.pools[key] === pool { $0.pools[key] = nil } }
        }
    }

    /// Closes the connections of a credential that was replaced as soon as what is in flight on them has ended.
    public func outdate(credential: Credential) async {
        let pools = self.shared.withLock { shared in
            shared.calls += 1
            return shared.pools
        }
        defer { leave() }
        for (key, pool) in pools where key.isOf(credential) { await pool.retireAll() }
    }

    /// Closes every connection and ends the threads. What is still on its way ends at once, and nothing is sent
    /// afterwards.
    public func shutdown() async {
        let (pools, loops) = self.shared.withLock { shared in
            shared.isShutDown = true
            defer { shared.pools = [:] }
            return (shared.pools.values, ownsLoops ? shared.loops.take() : nil)
        }
        for pool in pools { await pool.shutdown() }
        await withCheckedContinuation { continuation in
            let isLast = self.shared.withLock { shared in
                if shared.calls > 0 { shared.waiting.append(continuation) }
                return shared.calls == 0
            }
            if isLast { continuation.resume() }
        }
        loops?.shutdown()
    }

    /// A pool that was outdated between the moment it was found and the moment it was asked.
    private func forget(_ pool: ConnectionPool, _ gateway: Gateway, _ credential: Credential) {
        let key = PoolKey(gateway, credential)
        shared.withLock { if $0.pools[key] === pool { $0.pools[key] = nil } }
    }

    private func leave() {
        let waiting = self.shared.withLock { shared -> [CheckedContinuation<Void, Never>] in
            shared.calls -= 1
            guard shared.calls == 0 else { return [] }
            defer { shared.waiting = [] }
            return shared.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// The pool to send by; `leave` follows in any case.
    private func enter(_ gateway: Gateway, _ credential: Credential) throws(PushError) -> ConnectionPool {
        try self.shared.withLock { shared throws(PushError) in
            if shared.isShutDown { throw PushError.shutDown }
            let key = PoolKey(gateway, credential)
            let pool: ConnectionPool
            if let known = shared.pools[key] {
                pool = known
            } else {
                let loop = try nextLoop(&shared)
                pool = ConnectionPool(to: gateway, with: credential, configuration, meter: meter, on: loop)
                shared.pools[key] = pool
            }
            shared.calls += 1
            return pool
        }
    }

    private func nextLoop(_ shared: inout Shared) throws(PushError) -> EventLoop {
        if let loops = shared.loops { return loops.next() }
        do {
            let loops = try EventLoopGroup(count: max(1, configuration.threads), name: "push")
            shared.loops = loops
            return loops.next()
        } catch {
            throw PushError(.unreachable, "There is no thread to send on: \(error).", underlying: error)
        }
    }
}
