import CarillonIO

/// Whether the worker sleeps, and what it does next.
///
/// A worker that has found nothing for a moment asks PostgreSQL whether it may sleep: see `migrations/functions/queue/sleep.sql`.
/// A sleeper claims nothing, and its questions renew its lease. A notification calls it: it looks for work, and wakes if it has
/// found some. Slow looks find work without a notification, so notifications are never required.
struct SleepState: Sendable {
    private struct Sleep {
        let since: MonotonicInstant
        /// When it has to wake, whatever happens.
        var end: MonotonicInstant?
        /// The fleet takes it for asleep.
        var isKnown = false
        /// Slow looks since it fell asleep, or was called last.
        var looks = 0
        /// Open transactions that may bring work but will not notify. Nil if another worker has been awake since they were last
        /// read: the worker that was waiting for them may have exited, so they must be read again.
        var holders: [String]?
        /// It was notified, and has not looked since.
        var isCalled = false
    }

    /// In a longer sleep, floors are forgotten.
    static let floorMemory = Duration.seconds(10)
    /// The longest wait between slow looks, unless the lease is short. Where another host may take over, they also show in time that
    /// this one has stopped answering.
    private static let longestWaits = (oneHost: Duration.seconds(30), manyHosts: Duration.seconds(5))
    /// The waits after the first looks.
    private static let waits: [Duration] = [.milliseconds(100), .seconds(1), .seconds(10)]
    /// The waits while another worker is awake: shorter, because that worker may die. The first is almost zero, so that of two
    /// workers that fall asleep at the same time, one notices that both are asleep.
    private static let watchfulWaits: [Duration] = [.milliseconds(1), .milliseconds(100), .seconds(1)]
    /// The waits for transactions are a part of the time since it fell asleep, within these limits.
    private static let holderWaits = (shortest: Duration.milliseconds(20), longest: Duration.seconds(1), part: 20)
    /// How long a worker finds nothing before it sleeps: at first, and at most.
    private static let idleTimes = (shortest: Duration.milliseconds(50), longest: Duration.seconds(30))
    /// A shorter sleep costs more than looking.
    private static let worthwhile = Duration.milliseconds(100)
    /// A worker looks so rarely that this takes at most one part in this many of its time: a look has to read past all dead
    /// entries of the queue.
    private static let costFactor = 20
    /// Two calls in vain within this time cost more than looking.
    private static let vainInterval = Duration.milliseconds(250)

    /// The longest wait between slow looks.
    let longest: Duration
    /// How long a sleeper counts as alive: five slow looks, as many as an awake worker has heartbeats in a lease. No less than while it
    /// is awake: it may wake and send within the lease that it had before.
    let lease: Duration
    /// A notification would reach the worker, and every transaction can notify.
    private(set) var isPossible = false
    private var sleep: Sleep?
    /// Since when looks have found nothing.
    private(set) var idleSince: MonotonicInstant?
    private var idleTime = Self.idleTimes.shortest
    /// How long the last look took.
    private var cost = Duration.zero
    private var refusals = BackOff(from: .milliseconds(100), to: .seconds(5))
    private var refusedUntil: MonotonicInstant?
    private var vainCallAt: MonotonicInstant?
    /// The fleet may take it for asleep, and has to be told that it is not.
    private(set) var mustAnnounce = false
    /// No notification has called it, so the other sleepers do not know.
    private(set) var wokeByItself = false
    private var random: SeededGenerator

    /// - Parameter lease: While the worker is awake.
    init(lease: Duration, hosts: Int, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        longest = min(hosts > 1 ? Self.longestWaits.manyHosts : Self.longestWaits.oneHost, lease * 2)
        self.lease = max(longest * 5, lease)
    }

    var isAwake: Bool { sleep == nil }

    var asleepSince: MonotonicInstant? { sleep?.since }

    var holders: [String]? { sleep?.holders }

    // MARK: Awake

    /// There is a new connection. Notifications may have been lost, and the fleet has to be told that the worker is awake: also one
    /// that begins, since the flag may be left from a sleeper that has died.
    /// - Parameter canBeNotified: Notifications arrive on it.
    mutating func connected(canBeNotified: Bool) {
        isPossible = canBeNotified
        (sleep, idleSince, mustAnnounce, wokeByItself) = (nil, nil, true, true)
    }

    mutating func looked(foundWork: Bool, at now: MonotonicInstant) {
        idleSince = foundWork ? nil : idleSince ?? now
    }

    func mustAsk(at now: MonotonicInstant) -> Bool {
        guard isPossible, isAwake, !mustAnnounce, let idleSince else { return false }
        guard now - idleSince >= max(idleTime, cost * Self.costFactor) else { return false }
        return refusedUntil.map { $0 <= now } ?? true
    }

    // MARK: Asleep

    /// It is about to ask, and claims nothing from now on.
    /// - Parameter end: When it has to wake.
    mutating func fellAsleep(until end: MonotonicInstant?, at now: MonotonicInstant) {
        sleep = Sleep(since: now, end: end)
    }

    /// Whether a sleeper asks again now that its wait has ended, or that it was called. Otherwise it looks.
    mutating func asksAgain(at now: MonotonicInstant) -> Bool {
        guard let sleep else { return false }
        if sleep.isCalled {
            self.sleep?.isCalled = false
            return false
        }
        if let end = sleep.end, end <= now {
            woke(by: .itself, at: now)
            return false
        }
        return true
    }

    /// - Parameter cost: How long the statement took.
    /// - Returns: The wait before the next step.
    mutating func returned(_ rows: SleepRows, after cost: Duration, at now: MonotonicInstant) -> Duration {
        self.cost = cost
        // Also if it has woken while the question was under way.
        mustAnnounce = mustAnnounce || rows.isAlive != nil
        guard var sleep else { return .zero }
        let isNew = !sleep.isKnown
        if !rows.maySleep { isPossible = false }
        guard rows.maySleep, rows.isAlive == true, !rows.hasWork else {
            if isNew { refusedUntil = now + refusals.next(using: &random) }
            woke(by: isNew ? .refusal : .itself, at: now)
            return .zero
        }
        refusals.reset()
        sleep.isKnown = true
        sleep.looks += 1
        sleep.holders = rows.holders
        self.sleep = sleep
        var wait = wait(of: sleep, watches: rows.othersAreAwake, at: now)
        if let due = rows.dueIn { wait = min(wait, due + .milliseconds(1)) }
        return cut(wait, at: sleep.end, now)
    }

    private func wait(of sleep: Sleep, watches: Bool, at now: MonotonicInstant) -> Duration {
        let usual: Duration
        if sleep.holders?.isEmpty == false {
            let limits = Self.holderWaits
            usual = min(max((now - sleep.since) / limits.part, limits.shortest), limits.longest)
        } else {
            let waits = watches ? Self.watchfulWaits : Self.waits
            let index = sleep.looks - 1
            usual = index < waits.count ? waits[index] : watches ? waits[waits.count - 1] : longest
        }
        return paced(usual)
    }

    /// So that looks take a small part of the time.
    private func paced(_ wait: Duration) -> Duration { min(max(wait, cost * Self.costFactor), longest) }

    private func cut(_ wait: Duration, at end: MonotonicInstant?, _ now: MonotonicInstant) -> Duration {
        end.map { min(wait, max($0 - now, .zero)) } ?? wait
    }

    /// It could not ask. The fleet may take it for asleep, or transactions may notify: a rollback does not undo the flag.
    mutating func failed(at now: MonotonicInstant) {
        mustAnnounce = true
        refusedUntil = now + refusals.next(using: &random)
        woke(by: .refusal, at: now)
    }

    // MARK: Calls

    /// A notification has arrived. Returns whether to look now.
    mutating func called() -> Bool {
        guard sleep != nil else { return false }
        sleep?.isCalled = true
        return true
    }

    /// A sleeper that was called has looked.
    /// - Parameter end: When it has to wake.
    /// - Returns: The wait before the next step; nil if it has woken.
    mutating func lookedWhenCalled(
        foundWork: Bool,
        until end: MonotonicInstant?,
        at now: MonotonicInstant
    ) -> Duration? {
        if foundWork {
            woke(by: .call, at: now)
            return nil
        }
        // Many calls are not for this worker: it looks at intervals, and transactions need not notify.
        if let last = vainCallAt, now - last < max(Self.vainInterval, cost * Self.costFactor) {
            woke(by: .vainCalls, at: now)
            return nil
        }
        vainCallAt = now
        // Apps may have changed, or another worker has woken.
        sleep?.looks = 0
        sleep?.end = end
        return cut(paced(Self.waits[0]), at: end, now)
    }

    // MARK: Waking

    private enum Cause { case call, vainCalls, itself, refusal }

    private mutating func woke(by cause: Cause, at now: MonotonicInstant) {
        guard let slept = sleep.take() else { return }
        idleSince = nil
        wokeByItself = cause == .itself || cause == .refusal
        if cause == .refusal { return }
        let wasWorthIt = cause != .vainCalls && now - slept.since >= Self.worthwhile
        idleTime = wasWorthIt ? Self.idleTimes.shortest : min(idleTime * 2, Self.idleTimes.longest)
    }

    /// There is something to do that PostgreSQL does not know of.
    mutating func wake(at now: MonotonicInstant) { woke(by: .itself, at: now) }

    /// It was declared dead, and has registered again.
    mutating func registeredAgain() { mustAnnounce = true }

    /// The fleet knows that it is awake.
    mutating func announced() { mustAnnounce = false }
}
