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

        /// How many frames its requests and answers allow.
        fileprivate var framesEarned: UInt64 { 2 * requests + 20 * answers }

        /// How many window updates its requests allow. Some servers update both windows for each piece that they read.
        fileprivate var windowUpdatesEarned: UInt64 { 100 * requests + bodyBytes / 4 }
    }

    private static let forNothing: UInt64 = 1_000
    private static let interval: Duration = .seconds(10)

    private var began: MonotonicInstant
    private var frames = Account(maxLeft: 20_000)
    private var windowUpdates = Account(maxLeft: 1_000_000)

    init(at now: MonotonicInstant) { began = now }

    mutating func allows(_ counts: Counts, at now: MonotonicInstant) -> Bool {
        if now - began >= Self.interval {
            began = now
            frames.close(counts.framesEarned, spent: counts.frames)
            windowUpdates.close(counts.windowUpdatesEarned, spent: counts.windowUpdates)
        }
        return frames.allows(counts.framesEarned, spent: counts.frames)
            && windowUpdates.allows(counts.windowUpdatesEarned, spent: counts.windowUpdates)
    }

    /// What an interval allows for nothing, and what was earned and not yet spent: a server may answer in one interval what it was
    /// sent in the one before.
    private struct Account {
        /// As much as the pushes in flight can cause.
        let maxLeft: UInt64
        private var left: UInt64 = 0
        private var earnedBefore: UInt64 = 0
        private var spentBefore: UInt64 = 0

        init(maxLeft: UInt64) { self.maxLeft = maxLeft }

        func allows(_ earned: UInt64, spent: UInt64) -> Bool {
            spent - spentBefore <= FrameBudget.forNothing + left + earned - earnedBefore
        }

        mutating func close(_ earned: UInt64, spent: UInt64) {
            let credit = left + earned - earnedBefore
            left = min(credit - min(credit, spent - spentBefore), maxLeft)
            (earnedBefore, spentBefore) = (earned, spent)
        }
    }
}
