import CarillonIO

/// Decides when a request that waits for events asks for them again.
struct EventPace: Sendable {
    /// Notifications come with each settlement of a busy worker.
    private static let shortest = Duration.seconds(1)
    /// Pauses and cancels store events without a notification, and one is lost while its connection is.
    private static let longest = Duration.seconds(5)

    private let askedAt: MonotonicInstant
    private let isListening: Bool
    private var wasNotified = false

    /// It asks: what is notified from now on may not be in the answer.
    ///
    /// - Parameter isListening: whether notifications arrive.
    init(askedAt now: MonotonicInstant, isListening: Bool) {
        askedAt = now
        self.isListening = isListening
    }

    var next: MonotonicInstant { askedAt + (isListening && !wasNotified ? Self.longest : Self.shortest) }

    mutating func notified() { wasNotified = true }
}
