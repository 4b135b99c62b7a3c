import ApplePush
import CarillonIO

/// What a worker has measured within about the last minute, from counts that only grow.
struct LatencyWindow {
    private static let length = Duration.seconds(60)

    private struct Reading {
        let at: MonotonicInstant
        let waits: [UInt64]
        let answers: [UInt64]
    }

    /// The first is as old as the window, if there is one.
    private var readings: ArraySlice<Reading>

    init(at now: MonotonicInstant) {
        let none = DurationHistogram().counts
        readings = [Reading(at: now, waits: none, answers: none)]
    }

    /// The counts of each range, since the beginning of the window.
    mutating func read(
        waits: DurationHistogram,
        answers: DurationHistogram,
        at now: MonotonicInstant
    ) -> (waits: [Int64], answers: [Int64]) {
        readings.append(Reading(at: now, waits: waits.counts, answers: answers.counts))
        while let second = readings.dropFirst().first, now - second.at >= Self.length { readings.removeFirst() }
        let start = readings[readings.startIndex]
        func grown(_ counts: [UInt64], _ before: [UInt64]) -> [Int64] { zip(counts, before).map { Int64($0 - $1) } }
        return (grown(waits.counts, start.waits), grown(answers.counts, start.answers))
    }
}
