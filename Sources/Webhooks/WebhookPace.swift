package import CarillonIO

/// Decides when a worker looks for webhooks that are due. While there are none, it looks only when it is notified.
package struct WebhookPace: Sendable {
    /// Notifications come with each settlement of a busy worker.
    private static let shortest = Duration.seconds(1)

    private var lookedAt: MonotonicInstant?
    /// As PostgreSQL knows it.
    private var due: MonotonicInstant?
    private var wasNotified = false
    private var hasEnded = false

    package init() {}

    /// When to look next; nil: not before it is notified.
    package var next: MonotonicInstant? {
        guard let lookedAt, !hasEnded else { return lookedAt ?? .now }
        let soon = wasNotified ? lookedAt + Self.shortest : nil
        return [soon, due].compactMap(\.self).min()
    }

    /// - Parameter wait: until the next webhook is due; nil if there are none.
    package mutating func looked(at now: MonotonicInstant, wait: Duration?) {
        lookedAt = now
        due = wait.map { now + $0 }
    }

    /// A look begins: what comes from now on is not seen by it.
    package mutating func looks() {
        wasNotified = false
        hasEnded = false
    }

    package mutating func notified() { wasNotified = true }

    /// A receiver has accepted a batch: there may be another.
    package mutating func accepted() { hasEnded = true }
}
