import CarillonIO

/// When a retry is due: back-off with full jitter, and not before the gateway's Retry-After.
package struct RetryPolicy: Hashable, Sendable {
    package var base: Duration
    package var cap: Duration

    /// A longer Retry-After counts as a day.
    static let longest = Duration.seconds(86400)

    package init(base: Duration = .seconds(5), cap: Duration = .seconds(900)) {
        self.base = base
        self.cap = cap
    }

    /// - Parameter attempt: The first is 1.
    func delay(
        after attempt: Int16,
        retryAfter: Int32?,
        using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let jittered =
            BackOff(from: base, to: cap, after: Int(attempt)).maxWait * Double.random(in: 0...1, using: &generator)
        guard let retryAfter else { return jittered }
        // Jitter spreads pushes with the same Retry-After.
        let asked = min(.seconds(Int64(retryAfter)), Self.longest)
        return asked + min(jittered, base)
    }
}
