/// What other threads have for a loop to do, and whether the loop must be woken to see it.
struct Inbox: ~Copyable {
    enum Errand {
        case job(UnownedJob)
        case action(@Sendable () -> Void)
    }

    private(set) var errands: [Errand] = []
    /// The loop will look here before it sleeps, so nobody needs to wake it.
    private var isAwake = true
    private(set) var isStopping = false
    private var hasEnded = false

    /// What an errand needs besides being kept here.
    enum Delivery {
        /// The loop will look.
        case done
        /// The loop sleeps and must be woken: once for any number of errands.
        case wake
        /// The loop has ended, and somebody must stand in for it.
        case standIn
    }

    mutating func append(_ job: UnownedJob) -> Delivery {
        errands.append(.job(job))
        if hasEnded {
            hasEnded = false
            return .standIn
        }
        return wake() ? .wake : .done
    }

    /// Nil when the loop has been stopped and may not get to it; then nothing was kept.
    mutating func append(_ action: @escaping @Sendable () -> Void) -> Delivery? {
        guard !hasEnded else { return nil }
        errands.append(.action(action))
        return wake() ? .wake : .done
    }

    mutating func stop() -> Bool {
        isStopping = true
        return wake()
    }

    /// Swaps the errands against an empty array that has room from an earlier turn.
    mutating func take(into spare: inout [Errand]) {
        isAwake = true
        swap(&errands, &spare)
    }

    /// Asked before the loop sleeps; false when it must not, because there is more to do.
    mutating func fallAsleep() -> Bool {
        guard errands.isEmpty, !isStopping else { return false }
        isAwake = false
        return true
    }

    /// True when nothing is left to do, and nobody will look here any more.
    mutating func end() -> Bool {
        guard errands.isEmpty else { return false }
        hasEnded = true
        return true
    }

    private mutating func wake() -> Bool {
        defer { isAwake = true }
        return !isAwake
    }
}
