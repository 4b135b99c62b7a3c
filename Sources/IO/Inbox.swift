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
    private(set) var hasEnded = false

    /// True when the loop must be woken: once for any number of errands.
    mutating func append(_ errand: Errand) -> Bool {
        self.errands.append(errand)
        return self.wake()
    }

    mutating func stop() -> Bool {
        self.isStopping = true
        return self.wake()
    }

    /// Swaps the errands against an empty array that has room from an earlier turn.
    mutating func take(into spare: inout [Errand]) {
        self.isAwake = true
        swap(&self.errands, &spare)
    }

    /// Asked before the loop sleeps; false when it must not, because there is more to do.
    mutating func fallAsleep() -> Bool {
        guard self.errands.isEmpty, !self.isStopping else { return false }
        self.isAwake = false
        return true
    }

    /// True when nothing is left to do, and from then on nothing more is taken.
    mutating func end() -> Bool {
        guard self.errands.isEmpty else { return false }
        self.hasEnded = true
        return true
    }

    private mutating func wake() -> Bool {
        defer { self.isAwake = true }
        return !self.isAwake
    }
}
