/// How many pushes of a connection may be without a known outcome: few at first, since all of them are in doubt when the
/// connection breaks, and more with each connection whose gateway has said how far it came. And whether barriers make it say so.
struct WindowSize {
    private let limit: Int
    private(set) var count: Int
    private var hasLost = false
    /// The gateway answers barriers, as far as is known.
    private(set) var usesBarriers = true

    init(first: Int, limit: Int) {
        self.limit = max(1, limit)
        count = min(max(1, first), self.limit)
    }

    /// A gateway has said what became of all that was sent to it.
    mutating func proved() { count = min(limit, hasLost ? count + count / 8 + 1 : count * 2) }

    /// The gateway has not answered a barrier: another would only put more pushes in doubt.
    mutating func ignoredBarrier() { usesBarriers = false }

    /// A connection has ended with pushes whose outcome is unknown.
    mutating func lost() {
        hasLost = true
        count = max(1, count / 2)
    }
}
