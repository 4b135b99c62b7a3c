import IO

/// Counts what goes on in all pools of a backend. They tell it once a turn of their loops, never once a push.
final class TrafficMeter: Sendable {
    private let traffic = Guarded(Traffic())

    var reading: Traffic { traffic.withLock { $0 } }

    func opened() { traffic.withLock { $0.connections += 1 } }

    /// A connection has ended that was open, or never was.
    func ended(_ end: ConnectionEnd, wasOpen: Bool) {
        self.traffic.withLock { traffic in
            if wasOpen { traffic.connections -= 1 }
            traffic.ends[end.name, default: 0] += 1
        }
    }

    func add(_ report: TrafficReport) {
        self.traffic.withLock { traffic in
            traffic.answerTimes += report.answerTimes
            traffic.lateAnswers += report.lateAnswers
        }
    }
}
