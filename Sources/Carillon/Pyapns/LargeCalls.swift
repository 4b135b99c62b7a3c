import CarillonIO
import CarillonPostgres

/// Carries out one large call after another, so that they need the memory of one. They are read on a thread of their own: small calls
/// do not wait until one has been read.
actor LargeCalls {
    private let loop: EventLoop
    private let longestWait: Duration
    private var queue = CallQueue<CheckedContinuation<Bool, Never>>()
    /// How many calls wait for their turn.
    private(set) var waiting = 0

    /// Clients wait 20 seconds, and the database may take 15 of them.
    ///
    /// - Parameter loop: one that nothing else waits for.
    init(on loop: EventLoop, longestWait: Duration = .seconds(5)) {
        self.loop = loop
        self.longestWait = longestWait
    }

    /// Nil if the call has waited too long, and was not carried out.
    func run<R: Sendable>(_ call: @Sendable () async -> R) async -> R? {
        let mayRun = await withCheckedContinuation { turn in
            if queue.came(turn, at: .now) { turn.resume(returning: true) } else { waiting += 1 }
        }
        guard mayRun else { return nil }
        defer { pass() }
        let result = await withTaskExecutorPreference(loop) { await call() }
        // A free actor runs on the thread that comes to it: without this, the caller would continue on the thread of the loop.
        await Task.yield()
        return result
    }

    private func pass() {
        let (next, late) = queue.ended(at: .now, longestWait: longestWait)
        waiting -= late.count + (next == nil ? 0 : 1)
        for turn in late { turn.resume(returning: false) }
        next?.resume(returning: true)
    }
}
