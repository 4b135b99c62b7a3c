import IO

/// How many frames a server may send for the answers that it gives, and how many to open windows for the requests that it
/// gets. The protocol engine takes any number of frames that mean nothing; a server that has nothing else to say is left.
struct FrameBudget {
    /// What was counted from the connection's beginning.
    struct Counts {
        /// All frames that came but those that open windows.
        var frames: UInt64 = 0
        var answers: UInt64 = 0
        /// The frames that open windows.
        var windowUpdates: UInt64 = 0
        var requests: UInt64 = 0
        /// The bytes of their bodies that went out.
        var bodyBytes: UInt64 = 0
    }

    private static let framesAnAnswer: UInt64 = 20
    private static let framesForNothing: UInt64 = 1_000
    /// Some servers open windows for each piece that they read, of the stream and of the connection.
    private static let windowUpdatesARequest: UInt64 = 100
    private static let bodyBytesAWindowUpdate: UInt64 = 4
    private static let window: Duration = .seconds(10)

    private var began: MonotonicInstant
    private var before = Counts()

    init(at now: MonotonicInstant) { began = now }

    /// Whether what was counted is in order.
    mutating func allows(_ counts: Counts, at now: MonotonicInstant) -> Bool {
        if now - began >= Self.window {
            began = now
            before = counts
        }
        let answers = counts.answers - before.answers
        let requests = counts.requests - before.requests
        let bodyBytes = counts.bodyBytes - before.bodyBytes
        let windowUpdates = Self.windowUpdatesARequest * requests + bodyBytes / Self.bodyBytesAWindowUpdate
        return counts.frames - before.frames <= Self.framesForNothing + Self.framesAnAnswer * answers
            && counts.windowUpdates - before.windowUpdates <= Self.framesForNothing + windowUpdates
    }
}
