/// Counts durations in ranges. Adding is cheap, because it happens for every push.
package struct DurationHistogram: Equatable, Sendable {
    /// The upper bounds in nanoseconds: from the answer time of a nearby gateway to the delay of a stopped queue.
    private static let bounds: [Int64] = [
        1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 50_000_000, 100_000_000, 250_000_000, 500_000_000,
        1_000_000_000, 2_500_000_000, 5_000_000_000, 10_000_000_000, 30_000_000_000, 60_000_000_000, 300_000_000_000,
        1_800_000_000_000, 7_200_000_000_000,
    ]

    /// The upper bounds in seconds.
    package static let seconds = Self.bounds.map { Double($0) / 1e9 }

    /// The count of each range; the last range is above all bounds.
    package private(set) var counts = [UInt64](repeating: 0, count: Self.bounds.count + 1)
    /// In seconds.
    package private(set) var sum = 0.0

    package init() {}

    package var count: UInt64 { counts.reduce(0, +) }

    package mutating func add(nanoseconds: Int64) {
        var index = 0
        while index < Self.bounds.count, nanoseconds > Self.bounds[index] { index += 1 }
        counts[index] += 1
        sum += Double(max(0, nanoseconds)) / 1e9
    }

    package static func += (left: inout Self, right: Self) {
        for index in left.counts.indices { left.counts[index] += right.counts[index] }
        left.sum += right.sum
    }

    mutating func removeAll() {
        for index in counts.indices { counts[index] = 0 }
        sum = 0
    }
}
