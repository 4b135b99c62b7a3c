import CarillonIO

/// The traffic of all pools of a backend. A connection adds to it once for each iteration of its loop, never once for each push.
final class TrafficMeter: Sendable {
    private let traffic = Guarded(Traffic())

    var reading: Traffic { traffic.withLock { $0 } }

    func opened() { traffic.withLock { $0.connections += 1 } }

    func ended(_ end: ConnectionEnd, wasOpen: Bool) {
        traffic.withLock { traffic in
            if wasOpen { traffic.connections -= 1 }
            traffic.ends[end.name, default: 0] += 1
        }
    }

    /// Adds the answers, and clears the tally.
    func take(_ answers: inout AnswerTally) {
        guard !answers.isEmpty else { return }
        traffic.withLock { traffic in
            traffic.answerTimes += answers.times
            traffic.lateAnswers += answers.late
        }
        answers.removeAll()
    }
}
