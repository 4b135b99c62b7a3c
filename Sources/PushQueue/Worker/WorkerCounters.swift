/// What a worker has done so far, and what it is doing. A value: take it whenever you like.
package struct WorkerCounters: Sendable {
    /// What became of the pushes of one app.
    package struct Pushes: Equatable, Sendable {
        package internal(set) var sent = 0
        package internal(set) var failed = 0
        package internal(set) var expired = 0
        /// Tries that count as an attempt, and are followed by another.
        package internal(set) var retried = 0
        /// Pushes that went back without a try that counts.
        package internal(set) var returned = 0
        /// Tries of which nobody knows what came.
        package internal(set) var unknown = 0

        mutating func add(_ tally: Settlement.Tally) {
            self.sent += tally.sent
            self.failed += tally.failed
            self.expired += tally.expired
            self.retried += tally.retried
            self.returned += tally.returned
            self.unknown += tally.unknown
        }
    }

    /// Why pushes failed.
    package struct Failure: Hashable, Sendable {
        package let app: Int32
        /// 0: refused here, or never answered.
        package let status: Int16
        package let reason: String
    }

    package internal(set) var apps: [Int32: Pushes] = [:]
    package internal(set) var failures: [Failure: Int] = [:]
    /// The names of the apps, as far as they are known.
    package internal(set) var names: [Int32: String] = [:]
    /// Claims that brought something.
    package internal(set) var claims = 0
    package internal(set) var jobs = 0
    /// Claims settled too late: they were not this worker's any more.
    package internal(set) var stale = 0
    package internal(set) var takeovers = 0
    package internal(set) var databaseErrors = 0
    package internal(set) var inFlight = 0
    package internal(set) var isConnected = false
    /// Why apps are held.
    package internal(set) var troubles: [Int32: Trouble] = [:]

    package init() {}

    /// All apps together.
    package var total: Pushes {
        var total = Pushes()
        for pushes in self.apps.values {
            total.sent += pushes.sent
            total.failed += pushes.failed
            total.expired += pushes.expired
            total.retried += pushes.retried
            total.returned += pushes.returned
            total.unknown += pushes.unknown
        }
        return total
    }

    mutating func add(_ settlement: Settlement, of app: Int32) {
        self.apps[app, default: Pushes()].add(settlement.tally)
        for failure in settlement.failures {
            self.failures[Failure(app: app, status: failure.status ?? 0, reason: failure.reason), default: 0] += 1
        }
    }
}
