import CLinux
import Glibc
import Synchronization

/// One thread that waits for descriptors and timers, and that actors can name as their executor: then their methods and
/// the handlers of their descriptors run on one thread, with no hop between them.
///
/// A turn of the loop: run what other threads left in the inbox, run the timers that are due, run what was put off to
/// the end of the turn, sleep until a descriptor is ready. Whoever makes a loop stops it and joins it.
package final class EventLoop: SerialExecutor, TaskExecutor {
    package let name: String
    private let inbox = Guarded(Inbox())
    private let wakeUp: CInt
    private let thread = Guarded<Thread?>(nil)
    /// The loop's thread, 0 before it runs. Each thread only compares it with itself, so no order is needed.
    private let threadID = Atomic<UInt>(0)
    /// Safe, because one thread at a time touches it: the loop's, and once that has ended, one stand-in after the other,
    /// which the inbox's lock puts in order. Every method for others calls `checkIsolated` first; one that forgot to would
    /// break this.
    private nonisolated(unsafe) let reactor: Reactor

    package init(name: String) throws(IOError) {
        self.name = name
        wakeUp = try SystemCall.check("creating an event descriptor") {
            eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        }
        do {
            reactor = try Reactor(wakeUp: wakeUp)
        } catch {
            close(wakeUp)
            throw error
        }
        let thread = try Thread(name: name) { self.run() }
        self.thread.withLock { $0 = thread }
    }

    deinit {
        close(wakeUp)
    }

    // MARK: From any thread

    /// Whether the caller is on the loop's thread.
    package var isCurrent: Bool {
        threadID.load(ordering: .relaxed) == Thread.current
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    package func checkIsolated() {
        precondition(isCurrent, "this may run only on the loop \(name)")
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        switch inbox.withLock({ $0.append(job) }) {
        case .done: break
        case .wake: wake()
        case .standIn: standIn()
        }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// Has the action run on the loop in its next turn. False, and no run, when the loop has ended.
    @discardableResult
    package func submit(_ action: @escaping @Sendable () -> Void) -> Bool {
        guard let delivery = inbox.withLock({ $0.append(action) }) else { return false }
        if case .wake = delivery { wake() }
        return true
    }

    /// Asks the loop to end once its inbox is empty. Those who sleep on it are woken with a `CancellationError`.
    package func stop() {
        if inbox.withLock({ $0.stop() }) { wake() }
    }

    /// Waits for the thread's end; never on the loop itself.
    package func join() {
        precondition(!isCurrent, "the loop \(name) cannot wait for its own end")
        thread.withLock { $0 }?.join()
    }

    // MARK: On the loop only

    /// Calls the handler whenever the descriptor is ready, for as long as it is. Cancel before the descriptor is closed.
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

    /// Runs the action at the instant or soon after, or `abandoned` when the loop stops before.
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

    /// Puts the action off until the jobs and timers of this turn have run, just before the loop sleeps: the place for
    /// writing once what many wanted written.
    package func atEndOfTurn(_ action: @escaping () -> Void) {
        checkIsolated()
        reactor.atEndOfTurn(action)
    }

    // MARK: The thread

    private func wake() {
        eventfd_write(wakeUp, 1)
    }

    private func run() {
        threadID.store(Thread.current, ordering: .relaxed)
        var errands: [Inbox.Errand] = []
        while true {
            runErrands(with: &errands)
            reactor.runDueTimers()
            reactor.endTurn()
            let (maySleep, isStopping) = inbox.withLock { ($0.fallAsleep(), $0.isStopping) }
            if isStopping { break }
            reactor.poll(maySleep: maySleep)
        }
        windUp()
    }

    /// Tells all who wait here. They may have more to do then, and what they do may set timers, which end like the
    /// others.
    private func windUp() {
        var errands: [Inbox.Errand] = []
        repeat {
            runErrands(with: &errands)
            reactor.endTurn()
            reactor.abandonAll()
        } while !self.inbox.withLock { inbox in
            guard inbox.end() else { return false }
            // Before anybody can stand in: the system may give this thread's number to the next one made.
            threadID.store(0, ordering: .relaxed)
            return true
        }
    }

    /// A task may come back to a loop that has ended, because it waited elsewhere while that was stopped. It gets a
    /// thread to end on, where nothing can be waited for.
    private func standIn() {
        do {
            try Thread.detach(name: name) {
                self.threadID.store(Thread.current, ordering: .relaxed)
                self.windUp()
            }
        } catch {
            preconditionFailure("a task came back to the loop \(name), which has ended, and \(error)")
        }
    }

    private func runErrands(with spare: inout [Inbox.Errand]) {
        inbox.withLock { $0.take(into: &spare) }
        for errand in spare {
            switch errand {
            case .job(let job):
                job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(),
                    taskExecutor: asUnownedTaskExecutor()
                )
            case .action(let action):
                action()
            }
        }
        spare.removeAll(keepingCapacity: true)
    }
}
