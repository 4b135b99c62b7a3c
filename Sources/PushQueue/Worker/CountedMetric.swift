package import ApplePush

/// A metric that a worker counts.
package struct CountedMetric: Sendable {
    package enum Value: Sendable {
        case count(Int)
        case durations(DurationHistogram)
        /// By the names of apps.
        case byApp([String: Int])
        case byReason([WorkerCounters.OutcomeKey: Int])
    }

    package let name: String
    package let help: String
    package let value: @Sendable (WorkerCounters) -> Value

    init(_ name: String, _ help: String, _ value: @escaping @Sendable (WorkerCounters) -> Value) {
        self.name = name
        self.help = help
        self.value = value
    }
}
