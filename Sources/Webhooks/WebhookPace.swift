package import CarillonIO

/// Decides when a worker asks for webhooks that are due. While there are none, it asks only when it is notified, or when it has put
/// off an attempt itself.
package struct WebhookPace: Sendable {
    /// Notifications come with each settlement of a busy worker.
    private static let shortest = Duration.seconds(1)

    private var askedAt: MonotonicInstant?
    /// As PostgreSQL knows it, and as the attempts that have failed since have put it off.
    private var due: MonotonicInstant?
    private var wasNotified = false
    private var hasEnded = false

    package init() {}

    /// When to ask next; nil: not before it is notified.
    package var next: MonotonicInstant? {
        guard let askedAt, !hasEnded else { return askedAt ?? .now }
        let soon = wasNotified ? askedAt + Self.shortest : nil
        return [soon, due].compactMap(\.self).min()
    }

    /// - Parameter wait: until the next webhook is due; nil if there are none.
    package mutating func asked(at now: MonotonicInstant, wait: Duration?) {
        askedAt = now
        due = [due, wait.map { now + $0 }].compactMap(\.self).min()
    }

    /// It asks: what comes from now on is not in the answer.
    package mutating func asks() {
        wasNotified = false
        hasEnded = false
        due = nil
    }

    package mutating func notified() { wasNotified = true }

    /// A receiver has accepted a batch: there may be another.
    package mutating func accepted() { hasEnded = true }

    /// A receiver has not accepted a batch. PostgreSQL was asked while that attempt was under way, and knew only its claim.
    package mutating func failed(until next: MonotonicInstant) { due = min(due ?? next, next) }
}
