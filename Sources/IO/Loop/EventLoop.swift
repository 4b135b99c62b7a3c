import Synchronization

/// A thread that waits for descriptors and timers. Actors can use it as their executor, so that their methods and the handlers of
/// their descriptors run on one thread, with no hop between them.
///
/// Each iteration runs the items in the inbox, the timers that are due and the actions deferred to its end, then sleeps
/// until a descriptor is ready, a timer is due or another thread wakes it. The creator of a loop must stop and join it.
package final class EventLoop: SerialExecutor, TaskExecutor {
    package let name: String
    private let inbox = Guarded(Inbox())
    private let waker: Poller.Waker
    private let thread = Guarded<Thread?>(nil)
    /// The loop's thread, 0 before it runs. A thread only compares this value with its own ID, so no memory ordering is needed.
    private let threadID = Atomic<UInt>(0)
    /// Safe, because only one thread at a time uses it: the loop's, which starts when `init` has made it, and, after that has
    /// ended, one stand-in at a time, ordered by the inbox's lock. Every method that can be called from outside must call
    /// `checkIsolated` first.
    private nonisolated(unsafe) let reactor: Reactor

    package init(name: String) throws(IOError) {
        self.name = name
        let reactor = try Reactor()
        waker = reactor.waker
        self.reactor = reactor
        let thread = try Thread(name: name) { self.run() }
        self.thread.withLock { $0 = thread }
    }

    package static func with<R>(name: String, _ body: (EventLoop) async throws -> R) async throws -> R {
        let loop = try EventLoop(name: name)
        defer {
            loop.stop()
            loop.join()
        }
        return try await body(loop)
    }

    // MARK: From any thread

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool { threadID.load(ordering: .relaxed) == Thread.current }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() {
        precondition(isCurrent, "this may run only on the loop \(name)")
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch inbox.withLock({ $0.append(job) }) {
        case .nothing: break
        case .wakeUp: waker.wake()
        case .standIn: standIn()
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Runs the action on the loop in its next iteration. Returns false if the loop has ended; then the action does not run.
    @discardableResult
    package func submit(_ action: @escaping @Sendable () -> Void) -> Bool {
        guard let need = inbox.withLock({ $0.append(action) }) else { return false }
        if case .wakeUp = need { waker.wake() }
        return true
    }

    /// Asks the loop to end once its inbox is empty. Tasks that sleep on it get a `CancellationError`.
    package func stop() {
        if inbox.withLock({ $0.stop() }) { waker.wake() }
    }

    /// Waits for the thread to end. Must not be called on the loop.
    package func join() {
        precondition(!isCurrent, "the loop \(name) cannot wait for its own end")
        thread.withLock { $0 }?.join()
    }

    // MARK: On the loop only

    /// Calls the handler in every iteration in which the descriptor is ready. Cancel the watch before closing the descriptor.
    package func watch(
        _ descriptor: CInt,
        for interest: Interest,
        _ handler: @escaping (Interest) -> Void
    ) throws(IOError) -> WatchToken {
        checkIsolated()
        return try reactor.watch(descriptor, for: interest, handler)
    }

    package func update(_ watch: WatchToken, to interest: Interest) {
        checkIsolated()
        reactor.update(watch, to: interest)
    }

    package func cancel(_ watch: WatchToken) {
        checkIsolated()
        reactor.cancel(watch)
    }

    /// Runs the action at the deadline or soon after, or `abandoned` if the loop stops first.
    package func schedule(
        at deadline: MonotonicInstant,
        abandoned: (() -> Void)? = nil,
        _ action: @escaping () -> Void
    ) -> TimerToken {
        checkIsolated()
        return reactor.schedule(at: deadline, abandoned: abandoned, action)
    }

    package func cancel(_ timer: TimerToken) {
        checkIsolated()
        reactor.cancel(timer)
    }

    /// Defers the action until the jobs and timers of this iteration have run, just before the loop sleeps. Used to write gathered
    /// output.
    package func atEndOfIteration(_ action: @escaping () -> Void) {
        checkIsolated()
        reactor.atEndOfIteration(action)
    }

    // MARK: The thread

    private func run() {
        threadID.store(Thread.current, ordering: .relaxed)
        var items: [Inbox.Item] = []
        while true {
            runInbox(with: &items)
            reactor.runDueTimers()
            reactor.endIteration()
            let (maySleep, isStopping) = inbox.withLock { ($0.fallAsleep(), $0.isStopping) }
            if isStopping { break }
            reactor.poll(maySleep: maySleep)
        }
        windUp()
    }

    /// Ends every wait on this loop. The resumed tasks may submit more actions and set more timers, which are ended in the same
    /// way.
    private func windUp() {
        var items: [Inbox.Item] = []
        repeat {
            runInbox(with: &items)
            reactor.endIteration()
            reactor.abandonAll()
        } while !self.inbox.withLock { inbox in
            guard inbox.end() else { return false }
            // Under the lock, before a stand-in can start: it might get the same thread ID.
            threadID.store(0, ordering: .relaxed)
            return true
        }
    }

    /// Starts a thread for tasks that return to the loop after it has ended. They finish there, and every wait ends at once.
    private func standIn() {
        do {
            try Thread.detach(name: name) {
                self.threadID.store(Thread.current, ordering: .relaxed)
                self.windUp()
            }
        } catch {
            preconditionFailure("a task returned to the loop \(name), which has ended, and \(error)")
        }
    }

    private func runInbox(with spare: inout [Inbox.Item]) {
        inbox.withLock { $0.take(into: &spare) }
        for item in spare {
            switch item {
            case .job(let job):
                job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case .action(let action):
                action()
            }
        }
        spare.removeAll(keepingCapacity: true)
    }
}
