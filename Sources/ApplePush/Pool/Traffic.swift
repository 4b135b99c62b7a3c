import CarillonIO

/// What a backend does and has done, for metrics.
package struct Traffic: Sendable {
    /// Connections that are open now.
    package internal(set) var connections = 0
    /// From the submission of a push to its answer, whatever that says.
    package internal(set) var answerTimes = DurationHistogram()
    /// Pushes abandoned because their answer did not arrive in time.
    package internal(set) var lateAnswers = 0
    /// Connections that have ended, or could not be made, by the name of their `ConnectionEnd`.
    package internal(set) var ends: [String: Int] = [:]

    package init() {}

    static func += (sum: inout Self, other: Self) {
        sum.connections += other.connections
        sum.answerTimes += other.answerTimes
        sum.lateAnswers += other.lateAnswers
        sum.ends.merge(other.ends, uniquingKeysWith: +)
    }
}

/// The traffic of all pools of a backend. A connection adds to it once for each turn of its loop, never once for each push.
final class TrafficMeter: Sendable {
    private let traffic = Guarded(Traffic())

    var reading: Traffic { traffic.withLock { $0 } }

    func opened() { traffic.withLock { $0.connections += 1 } }

    func ended(_ end: ConnectionEnd, wasOpen: Bool) {
        self.traffic.withLock { traffic in
            if wasOpen { traffic.connections -= 1 }
            traffic.ends[end.name, default: 0] += 1
        }
    }

    /// Adds the answers, and empties them.
    func take(_ answers: inout AnswerTally) {
        guard !answers.isEmpty else { return }
        self.traffic.withLock { traffic in
            traffic.answerTimes += answers.times
            traffic.lateAnswers += answers.late
        }
        answers.removeAll()
    }
}

/// The answers on one connection since the meter last took them.
struct AnswerTally {
    private(set) var times = DurationHistogram()
    private(set) var late = 0
    private(set) var isEmpty = true

    mutating func answered(after nanoseconds: Int64) {
        times.add(nanoseconds: nanoseconds)
        isEmpty = false
    }

    mutating func wasLate() {
        late += 1
        isEmpty = false
    }

    mutating func removeAll() {
        times.removeAll()
        late = 0
        isEmpty = true
    }
}
