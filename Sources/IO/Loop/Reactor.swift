/// The part of a loop that only its own thread uses: descriptors, timers, and actions deferred to the end of an iteration.
/// Deliberately not `Sendable`.
final class Reactor {
    private struct Watch {
        let descriptor: CInt
        let handler: (Interest) -> Void
    }

    private struct Timer {
        let action: () -> Void
        /// Called instead if the loop stops first.
        let abandoned: (() -> Void)?
    }

    private var poller: Poller
    private var watches = SlotTable<Watch>()
    private var timers = TimerHeap<Timer>()
    private var deferred: [() -> Void] = []

    init() throws(IOError) { poller = try Poller() }

    var waker: Poller.Waker { poller.waker }

    // MARK: Descriptors

    func watch(
        _ descriptor: CInt,
        for interest: Interest,
        _ handler: @escaping (Interest) -> Void
    ) throws(IOError) -> WatchToken {
        let slot = watches.insert(Watch(descriptor: descriptor, handler: handler))
        do {
            try poller.add(descriptor, for: interest, as: slot)
        } catch {
            watches.remove(slot)
            throw error
        }
        return WatchToken(slot: slot)
    }

    func update(_ token: WatchToken, to interest: Interest) {
        guard let watch = watches[token.slot] else { return }
        do {
            try poller.change(watch.descriptor, to: interest, as: token.slot)
        } catch {
            preconditionFailure("a watched descriptor was closed before its watch was cancelled: \(error)")
        }
    }

    func cancel(_ token: WatchToken) {
        guard let watch = watches.remove(token.slot) else { return }
        poller.remove(watch.descriptor)
    }

    // MARK: Timers

    func schedule(
        at deadline: MonotonicInstant,
        abandoned: (() -> Void)?,
        _ action: @escaping () -> Void
    ) -> TimerToken {
        timers.insert(at: deadline, Timer(action: action, abandoned: abandoned))
    }

    func cancel(_ token: TimerToken) { timers.remove(token) }

    // MARK: Iterations

    func atEndOfIteration(_ action: @escaping () -> Void) { deferred.append(action) }

    /// A timer set by another timer for a time in the past waits for the next iteration, so that timers cannot starve I/O.
    func runDueTimers() {
        guard let earliest = timers.earliest else { return }
        let now = MonotonicInstant.now
        guard earliest <= now else { return }
        var left = timers.count
        while left > 0, let timer = timers.popDue(at: now) {
            timer.action()
            left -= 1
        }
    }

    func endIteration() {
        while !deferred.isEmpty {
            var actions: [() -> Void] = []
            swap(&actions, &deferred)
            for action in actions { action() }
        }
    }

    /// Waits for descriptors, unless the loop has more to do, and runs their handlers.
    func poll(maySleep: Bool) {
        let count = poller.wait(until: maySleep ? timers.earliest : MonotonicInstant(nanoseconds: 0))
        for index in 0..<count {
            guard let event = poller.event(at: index) else { continue }
            // An earlier handler of this round may have cancelled this watch; then the slot is empty.
            watches[event.slot]?.handler(event.ready)
        }
    }

    /// Drops all watches and timers, and calls each timer's `abandoned`.
    func abandonAll() {
        for watch in watches.removeAll() { poller.remove(watch.descriptor) }
        for timer in timers.removeAll() { timer.abandoned?() }
        deferred = []
    }
}
