package import ApplePush

/// A metric that a worker counts in a property of `WorkerCounters`.
package struct CountedMetric: Sendable {
    package enum Value: Sendable {
        case count(Int)
        case durations(DurationHistogram)
        /// By the names of apps.
        case countsByApp([String: Int])
    }

    typealias Property<Content> = any KeyPath<WorkerCounters, Content> & Sendable

    package let name: String
    package let help: String
    package let property: any AnyKeyPath & Sendable
    package let value: @Sendable (WorkerCounters) -> Value

    init(_ name: String, _ help: String, _ property: Property<Int>) {
        self.init(name, help, of: property) { .count($0[keyPath: property]) }
    }

    init(_ name: String, _ help: String, _ property: Property<DurationHistogram>) {
        self.init(name, help, of: property) { .durations($0[keyPath: property]) }
    }

    init(_ name: String, _ help: String, byApp property: Property<[String: Int]>) {
        self.init(name, help, of: property) { .countsByApp($0[keyPath: property]) }
    }

    private init(
        _ name: String,
        _ help: String,
        of property: any AnyKeyPath & Sendable,
        _ value: @escaping @Sendable (WorkerCounters) -> Value
    ) {
        self.name = name
        self.help = help
        self.property = property
        self.value = value
    }
}
