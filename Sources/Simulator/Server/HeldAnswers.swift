import HTTP2
import IO

/// Answers that are held back for the configured delay, in the order they become due.
struct HeldAnswers {
    struct Held {
        let due: MonotonicInstant
        let stream: Int32
        let block: HeaderBlock
        let body: [UInt8]
        let verdict: Verdict
        /// What the log will say, if there is one.
        let request: HeldRequest?
        /// What the observer is told when it has gone out.
        let delivery: Delivery?
    }

    private var waiting: [Held] = []
    private var first = 0

    /// When the next one is due.
    var nextDue: MonotonicInstant? { first < waiting.count ? waiting[first].due : nil }

    mutating func hold(_ held: Held) {
        waiting.append(held)
    }

    /// All of them, due or not: their connection is over.
    mutating func takeAll() -> ArraySlice<Held> {
        defer { (waiting, first) = ([], 0) }
        return waiting[first...]
    }

    /// The next answer that is due at `now`.
    mutating func next(at now: MonotonicInstant) -> Held? {
        guard let due = nextDue, due <= now else { return nil }
        let held = waiting[first]
        first += 1
        if first == waiting.count || first > 4096 {
            waiting.removeFirst(first)
            first = 0
        }
        return held
    }
}
