/// When a push that failed for now is tried again: back-off with full jitter, and never sooner than the gateway asks.
package struct RetryPolicy: Hashable, Sendable {
    package var base: Duration
    package var cap: Duration

    /// Nobody means to wait longer than a day, whatever a header says.
    static let longest = Duration.seconds(86400)

    package init(base: Duration = .seconds(5), cap: Duration = .seconds(900)) {
        self.base = base
        self.cap = cap
    }

    /// How long to wait after that attempt, the first being 1.
    func delay(
        after attempt: Int16,
        retryAfter: Int32?,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let doublings = min(max(Int(attempt) - 1, 0), 32)
        let ceiling = min(cap, base * (1 << doublings))
        let jittered = ceiling * Double.random(in: 0...1, using: &generator)
        guard let retryAfter else { return jittered }
        // What was asked for, and then some: those who were told the same time should not all come back at it.
        let asked = min(.seconds(Int64(retryAfter)), Self.longest)
        return asked + min(jittered, base)
    }
}
