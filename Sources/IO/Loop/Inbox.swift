/// What other threads have for a loop to do, and whether the loop must be woken to see it.
struct Inbox: ~Copyable {
    enum Item {
        case job(UnownedJob)
        case action(@Sendable () -> Void)
    }

    private var items: [Item] = []
    /// The loop takes the items before it sleeps, so it needs no wake-up.
    private var isAwake = true
    private(set) var isStopping = false
    private var hasEnded = false

    /// What the loop needs after something was appended.
    enum Need {
        case nothing
        /// It sleeps and must be woken: once for any number of items.
        case wakeUp
        /// It has ended, and another thread must stand in for it.
        case standIn
    }

    mutating func append(_ job: UnownedJob) -> Need {
        items.append(.job(job))
        if hasEnded {
            hasEnded = false
            return .standIn
        }
        return wake() ? .wakeUp : .nothing
    }

    /// Nil when the loop has ended; then nothing was kept.
    mutating func append(_ action: @escaping @Sendable () -> Void) -> Need? {
        guard !hasEnded else { return nil }
        items.append(.action(action))
        return wake() ? .wakeUp : .nothing
    }

    mutating func stop() -> Bool {
        isStopping = true
        return wake()
    }

    /// Swaps the items with an empty array that has room from an earlier turn.
    mutating func take(into spare: inout [Item]) {
        isAwake = true
        swap(&items, &spare)
    }

    /// Asked before the loop sleeps; false: there is more to do.
    mutating func fallAsleep() -> Bool {
        guard items.isEmpty, !isStopping else { return false }
        isAwake = false
        return true
    }

    /// True: nothing is left to do, and the loop does not look here again.
    mutating func end() -> Bool {
        guard items.isEmpty else { return false }
        hasEnded = true
        return true
    }

    private mutating func wake() -> Bool {
        defer { isAwake = true }
        return !isAwake
    }
}
