import ApplePush
import CarillonIO

/// What a worker counts, and where it logs. Any thread may read it.
final class WorkerMeter: Sendable {
    private struct Values {
        var counters = WorkerCounters()
        var latency = LatencyWindow(at: .now)
    }

    private let values = Guarded(Values())
    /// What the program does, of which this may be one worker of several.
    private let traffic: @Sendable () -> Traffic
    private let emit: @Sendable (WorkerEvent) -> Void

    init(traffic: @escaping @Sendable () -> Traffic, events: @escaping @Sendable (WorkerEvent) -> Void) {
        self.traffic = traffic
        emit = events
    }

    var counters: WorkerCounters { values.withLock { $0.counters } }

    func count(_ change: (inout WorkerCounters) -> Void) { values.withLock { change(&$0.counters) } }

    func log(_ event: WorkerEvent) {
        count(event.count)
        emit(event)
    }

    /// The connections to gateways, and what has been measured within about the last minute.
    func recentTraffic() -> (waits: [Int64], answers: [Int64], connections: Int) {
        let traffic = traffic()
        let times = values.withLock { values in
            values.latency.read(waits: values.counters.waits, answers: traffic.answerTimes, at: .now)
        }
        return (times.waits, times.answers, traffic.connections)
    }
}
