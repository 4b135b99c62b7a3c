/// The work that other threads submit to a loop, and whether the loop must be woken to see it.
struct Inbox: ~Copyable {
    enum Item {
        case job(UnownedJob)
        case action(@Sendable () -> Void)
    }

    private var items: [Item] = []
    /// Whether the loop will take the items before it next sleeps, so that it needs no wake-up.
    private var isAwake = true
    private(set) var isStopping = false
    private var hasEnded = false

    /// What the caller must do for the loop after appending an item.
    enum Need {
        case nothing
        /// Wake the loop, which is asleep. One wake-up serves any number of items.
        case wakeUp
        /// Start a stand-in thread, because the loop has ended.
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

    /// Returns nil if the loop has ended; then the action is not kept.
    mutating func append(_ action: @escaping @Sendable () -> Void) -> Need? {
        guard !hasEnded else { return nil }
        items.append(.action(action))
        return wake() ? .wakeUp : .nothing
    }

    mutating func stop() -> Bool {
        isStopping = true
        return wake()
    }

    /// Swaps the items with an empty array whose capacity is left over from an earlier iteration.
    mutating func take(into spare: inout [Item]) {
        isAwake = true
        swap(&items, &spare)
    }

    /// Called before the loop sleeps. Returns false if there is more to do.
    mutating func fallAsleep() -> Bool {
        guard items.isEmpty, !isStopping else { return false }
        isAwake = false
        return true
    }

    /// Returns true if nothing is left to do. The loop does not take items after that.
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
