import CarillonIO

/// Something that the gateway must do within a time limit, and the end of the connection if it does not.
struct Deadline {
    let limit: Duration
    let end: ConnectionEnd
    private var since: MonotonicInstant?

    init(_ limit: Duration, _ end: ConnectionEnd) {
        self.limit = limit
        self.end = end
    }

    var isRunning: Bool { since != nil }

    var due: MonotonicInstant { since.map { $0 + limit } ?? .distantFuture }

    func isOver(at now: MonotonicInstant) -> Bool { now >= due && isRunning }

    mutating func restart(at now: MonotonicInstant) { since = now }

    mutating func stop() { since = nil }

    /// Starts the deadline if it is not running, or stops it.
    mutating func run(_ runs: Bool, since now: MonotonicInstant) { since = runs ? since ?? now : nil }
}
