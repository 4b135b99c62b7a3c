/// How many pushes are tried again for each cause. There are few causes, mostly one.
package struct RetryCauses: Equatable, Sendable {
    package private(set) var counts: [(cause: RetryCause, pushes: Int)] = []

    package static func == (left: Self, right: Self) -> Bool {
        left.counts.elementsEqual(right.counts) { $0 == $1 }
    }

    /// The cause of most pushes; of several, the first.
    var mostFrequent: RetryCause? {
        counts.reduce(nil as (cause: RetryCause, pushes: Int)?) { best, next in
            if let best, best.pushes >= next.pushes { best } else { next }
        }?.cause
    }

    mutating func add(_ cause: RetryCause, pushes: Int = 1) {
        if let place = counts.firstIndex(where: { $0.cause == cause }) {
            counts[place].pushes += pushes
        } else {
            counts.append((cause, pushes))
        }
    }

    mutating func add(_ others: Self) {
        for (cause, pushes) in others.counts { add(cause, pushes: pushes) }
    }
}
