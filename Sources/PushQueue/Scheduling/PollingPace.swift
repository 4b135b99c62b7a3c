/// How long to wait between two looks for lanes that have rows: 5 ms after one that found some, and up to 50 ms when there
/// has been nothing for a while, with jitter so that the workers of a fleet do not look all at once.
struct PollingPace: Sendable {
    static let shortest = Duration.milliseconds(5)
    static let longest = Duration.milliseconds(50)
    /// While pushes are in flight.
    static let busy = Duration.milliseconds(20)
    /// The wait is so many times what a look costs, so that looking takes a small part of the time however many lanes there
    /// are.
    private static let rest = 25
    /// The cheapest of the latest looks tells what one costs. Others may have waited for a processor, a lock or the network.
    private static let memory = 4

    private var current = Self.shortest
    private var costs: [Duration] = []

    /// How long to wait after a look that found rows.
    mutating func foundWork(after cost: Duration, isBusy: Bool) -> Duration {
        current = Self.shortest
        return max(isBusy ? Self.busy : Self.shortest, pause(after: cost))
    }

    /// How long to wait after a look that found nothing.
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
