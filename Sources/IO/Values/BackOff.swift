/// The waits between tries: each is up to twice as long as the one before, with jitter, so that not all try at once.
package struct BackOff: Sendable {
    private let shortest: Duration
    private let longest: Duration
    /// The longest that the next wait may be.
    package private(set) var maxWait: Duration

    /// - Parameter tries: How many have failed, for a caller that remembers only their number.
    package init(from shortest: Duration, to longest: Duration, after tries: Int = 1) {
        self.shortest = shortest
        self.longest = longest
        maxWait = min(shortest * (1 << min(max(tries - 1, 0), 32)), longest)
    }

    package mutating func reset() { maxWait = shortest }

    package mutating func lengthen() { maxWait = min(maxWait * 2, longest) }

    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        defer { lengthen() }
        return maxWait * Double.random(in: 0.5...1, using: &generator)
    }
}
