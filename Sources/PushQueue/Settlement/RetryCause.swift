import ApplePush

/// Why a push is tried again.
package struct RetryCause: Hashable, Sendable {
    /// Nil if no answer came.
    package let status: Int16?
    /// Apple's, or a `LocalReason`.
    package let reason: String

    init(_ outcome: Outcome, of outcomes: Outcomes) {
        status = outcome.status == 0 ? nil : Int16(clamping: outcome.status)
        // A gateway may send reasons of any length.
        let reason =
            outcome.verdict == .unknown ? LocalReason.outcomeUnknown.name : outcomes.text(of: outcome.reason)
        self.reason = reason.utf8.count > 256 ? String(decoding: reason.utf8.prefix(256), as: UTF8.self) : reason
    }

    /// How many pushes are tried again for each cause. There are few causes, mostly one.
    package struct Counts: Equatable, Sendable {
        package private(set) var all: [(cause: RetryCause, pushes: Int)] = []

        package static func == (left: Self, right: Self) -> Bool {
            left.all.elementsEqual(right.all) { $0 == $1 }
        }

        /// The cause of most pushes; of several, the first.
        var mostFrequent: RetryCause? {
            all.reduce(nil as (cause: RetryCause, pushes: Int)?) { best, next in
                if let best, best.pushes >= next.pushes { best } else { next }
            }?.cause
        }

        mutating func add(_ cause: RetryCause, pushes: Int = 1) {
            if let index = all.firstIndex(where: { $0.cause == cause }) {
                all[index].pushes += pushes
            } else {
                all.append((cause, pushes))
            }
        }

        mutating func add(_ others: Self) {
            for (cause, pushes) in others.all { add(cause, pushes: pushes) }
        }
    }
}
