import CarillonIO

/// How many frames a server may send per answer, and how many window updates per request. nghttp2 accepts any number of frames that
/// do nothing; a connection with too many of them is closed.
struct FrameBudget {
    /// Counts since the connection was opened.
    struct Counts {
        /// All frames except window updates.
        var frames: UInt64 = 0
        var answers: UInt64 = 0
        var windowUpdates: UInt64 = 0
        var requests: UInt64 = 0
        /// Bytes of request bodies that were sent.
        var bodyBytes: UInt64 = 0
    }

    private static let framesAnAnswer: UInt64 = 20
    private static let framesForNothing: UInt64 = 1_000
    /// Some servers update both windows for each piece that they read.
    private static let windowUpdatesARequest: UInt64 = 100
    private static let bodyBytesAWindowUpdate: UInt64 = 4
    private static let window: Duration = .seconds(10)

    private var began: MonotonicInstant
    private var before = Counts()

    init(at now: MonotonicInstant) { began = now }

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
