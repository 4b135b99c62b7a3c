/// How many pushes on a connection may be without a known outcome: few at first, because all of them are in doubt if the connection
/// breaks, and more with each connection whose gateway reported how far it got. From a gateway that answers no barriers, silence
/// counts as such a report. Also records whether the gateway answers barriers.
struct WindowSize {
    private let limit: Int
    private(set) var count: Int
    private var hasLost = false
    /// Whether to use barriers: true until the gateway fails to answer one.
    private(set) var usesBarriers = true
    /// Whether silence proves anything: the gateway has not reported an error after the quiet period.
    private var isQuietReliable = true
    /// How many connections in a row were closed while the answer to a barrier was due.
    private var closedOnBarriers = 0

    init(first: Int, limit: Int) {
        self.limit = max(1, limit)
        count = min(max(1, first), self.limit)
    }

    /// A gateway has determined the outcome of everything that was sent to it.
    mutating func proved() {
        closedOnBarriers = 0
        grow(by: count)
    }

    /// The window was full, and silence has determined the outcome of this many pushes.
    mutating func stayedQuiet(after pushes: Int) {
        if isQuietReliable { grow(by: pushes) }
    }

    /// An error came after the quiet period: silence has been taken for success too early.
    mutating func refuted() {
        isQuietReliable = false
        lost()
    }

    private mutating func grow(by pushes: Int) {
        count = min(limit, count + (hasLost ? pushes / 8 + 1 : pushes))
    }

    /// The gateway has not answered a barrier; another one would only delay more pushes, or put them in doubt.
    mutating func ignoredBarrier() { usesBarriers = false }

    /// The gateway has closed the connection instead of answering a barrier. Once may be chance, and it is the same chance for a
    /// connection that was open meanwhile.
    /// - Parameter begin: The size when the connection began.
    mutating func closedOnBarrier(since begin: WindowSize) {
        guard closedOnBarriers == begin.closedOnBarriers else { return }
        closedOnBarriers += 1
        if closedOnBarriers > 1 { usesBarriers = false }
    }

    /// A connection has ended with pushes whose outcome is unknown.
    mutating func lost() {
        hasLost = true
        count = max(1, count / 2)
    }
}
