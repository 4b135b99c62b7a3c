/// How long to wait between two looks for lanes that have rows: hardly at all after one that found some, and up to 50 ms,
/// jittered so that a fleet does not look in step, when there has been nothing for a while.
struct PollingPace: Sendable {
    static let shortest = Duration.milliseconds(5)
    static let longest = Duration.milliseconds(50)
    /// Between looks for more lanes while there is plenty to do in those that are known.
    static let busy = Duration.milliseconds(20)
    /// So many times the duration of a look lie between two looks: however many lanes there are to walk over, looking
    /// costs a small part of the time.
    static let rest = 25

    /// So many looks tell what one costs: the cheapest of them. The others had to wait, for a core, a lock or the network.
    private static let memory = 4

    private var current = Self.shortest
    private var costs: [Duration] = []

    /// A look took so long and found rows, in lanes that go on by themselves or not. How long to wait before the next.
    mutating func foundWork(after cost: Duration, isBusy: Bool) -> Duration {
        current = Self.shortest
        return max(isBusy ? Self.busy : Self.shortest, pause(after: cost))
    }

    /// A look took so long and found nothing. How long to wait before the next.
    mutating func foundNothing(
        after cost: Duration,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let wait = current * Double.random(in: 0.5...1, using: &generator)
        current = min(current * 2, Self.longest)
        return max(wait, pause(after: cost))
    }

    private mutating func pause(after cost: Duration) -> Duration {
        if costs.count == Self.memory { costs.removeFirst() }
        costs.append(cost)
        return min((costs.min() ?? cost) * Self.rest, .seconds(3))
    }
}
