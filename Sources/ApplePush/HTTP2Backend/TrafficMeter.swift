import IO

/// Counts what goes on in all pools of a backend. They tell it once a turn of their loops, never once a push.
final class TrafficMeter: Sendable {
    private let traffic = Guarded(Traffic())

    var reading: Traffic { self.traffic.withLock { $0 } }

    func opened() { self.traffic.withLock { $0.connections += 1 } }

    func closed() { self.traffic.withLock { $0.connections -= 1 } }

    func answered(after times: DurationHistogram) { self.traffic.withLock { $0.answerTimes += times } }
}
