import CarillonIO

/// The wait between two looks for lanes with rows: after a look that found some, 5 ms, or 20 ms while pushes are in flight; after
/// one that found none, up to 20 ms if the worker is about to sleep, otherwise up to 50 ms. The latter have jitter, so that
/// workers do not all look at once. A wait is longer if looks are expensive, and for a worker that has been idle for long and
/// cannot sleep.
struct PollingPace: Sendable {
    static let shortest = Duration.milliseconds(5)
    static let longest = Duration.milliseconds(50)
    /// While pushes are in flight.
    static let busy = Duration.milliseconds(20)
    /// The wait as a multiple of the cost of a look, so that looks take a small part of the time with any number of lanes.
    private static let costFactor = 25
    /// The same while lanes are left to the next look: those that were found are soon empty, and a look at a part of the lanes is
    /// short.
    private static let costFactorOfManyLanes = 3
    /// The wait as a part of the time that a worker has been idle which cannot sleep: 100 ms after a minute, and at most almost a second.
    private static let idlePart = 600
    private static let longestIdle = Duration.milliseconds(900)
    /// The cost is the lowest of this many looks. Others may have waited for a processor, a lock or the network.
    private static let memory = 4

    private var backOff = BackOff(from: Self.shortest, to: Self.longest)
    private var backOffBeforeSleep = BackOff(from: Self.shortest, to: Self.busy)
    private var costs: [Duration] = []
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func foundWork(after cost: Duration, isBusy: Bool, hasMoreLanes: Bool) -> Duration {
        backOff.reset()
        backOffBeforeSleep.reset()
        let factor = hasMoreLanes ? Self.costFactorOfManyLanes : Self.costFactor
        return max(isBusy ? Self.busy : Self.shortest, leastWait(after: cost, factor))
    }

    /// - Parameter idle: How long it has found nothing; nil if it is about to sleep.
    mutating func foundNothing(after cost: Duration, idleFor idle: Duration?) -> Duration {
        let least = leastWait(after: cost)
        guard let idle else { return max(backOffBeforeSleep.next(using: &random), least) }
        return max(backOff.next(using: &random), least, min(idle / Self.idlePart, Self.longestIdle))
    }

    private mutating func leastWait(after cost: Duration, _ factor: Int = Self.costFactor) -> Duration {
        if costs.count == Self.memory { costs.removeFirst() }
        costs.append(cost)
        return min((costs.min() ?? cost) * factor, .seconds(3))
    }
}
