package import ApplePush
import IO

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
            sent += tally.sent
            failed += tally.failed
            expired += tally.expired
            retried += tally.retried
            returned += tally.returned
            unknown += tally.unknown
        }
    }

    /// Why pushes failed, or are tried again.
    package struct Failure: Hashable, Sendable {
        package let app: Int32
        /// 0: refused here, or never answered.
        package let status: Int16
        package let reason: String
    }

    package internal(set) var apps: [Int32: Pushes] = [:]
    package internal(set) var failures: [Failure: Int] = [:]
    /// Attempts that were followed by another.
    package internal(set) var retries: [Failure: Int] = [:]
    /// How many of them each app has.
    private var reasons: [Int32: Int] = [:]
    /// The names of the apps, as far as they are known.
    package internal(set) var names: [Int32: String] = [:]
    /// Claims that brought something.
    package internal(set) var claims = 0
    package internal(set) var jobs = 0
    /// How long jobs have waited from enqueueing to their first claim.
    package internal(set) var waits = DurationHistogram()
    /// Claims settled too late: they were not this worker's any more.
    package internal(set) var stale = 0
    /// Jobs of which PostgreSQL refused to write what became of them.
    package internal(set) var unrecorded = 0
    package internal(set) var takeovers = 0
    package internal(set) var databaseErrors = 0
    /// Tokens that were deleted, by the app's name.
    package internal(set) var reaped: [String: Int] = [:]
    /// Rows of feedback that are done with.
    package internal(set) var feedbackHandled = 0
    /// How long feedback passes took.
    package internal(set) var feedbackPasses = DurationHistogram()
    /// What kept watched tables from being reaped.
    package internal(set) var feedbackFaults = 0
    /// How often apps were paused because most of their pushes failed as BadDeviceToken, by the app's name.
    package internal(set) var breakers: [String: Int] = [:]
    package internal(set) var inFlight = 0
    package internal(set) var isConnected = false
    /// Why it is not connected, as far as is known.
    package internal(set) var disconnection: String?
    /// When the database has answered anything last.
    var heardAt: MonotonicInstant?
    /// Until when the lease is proven.
    var leaseEnd: MonotonicInstant?
    /// Why apps are held.
    package internal(set) var troubles: [Int32: Trouble] = [:]

    package init() {}

    /// All apps together.
    package var total: Pushes {
        var total = Pushes()
        for pushes in apps.values {
            total.sent += pushes.sent
            total.failed += pushes.failed
            total.expired += pushes.expired
            total.retried += pushes.retried
            total.returned += pushes.returned
            total.unknown += pushes.unknown
        }
        return total
    }

    mutating func heard(_ event: WorkerEvent) {
        switch event {
        case .databaseLost(let reason):
            isConnected = false
            disconnection = reason
        case .stale: stale += 1
        case .unrecorded: unrecorded += 1
        case .tookOver(_, let claims, _): takeovers += claims
        case .trouble(let app, _, let trouble, _): troubles[app] = trouble
        case .troubleOver(let app, _): troubles[app] = nil
        case .reaped(let tally, let duration):
            reaped.merge(tally.deleted, uniquingKeysWith: +)
            feedbackHandled += tally.handled
            feedbackFaults += tally.faults.count
            if tally.isWhole { feedbackPasses.add(nanoseconds: duration.nanoseconds) }
        case .breakerOpened(_, let name, _): breakers[name, default: 0] += 1
        default: break
        }
    }

    mutating func add(_ settlement: Settlement, of app: Int32) {
        let app = place(of: app)
        apps[app, default: Pushes()].add(settlement.tally)
        for failure in settlement.failures {
            let failure = Failure(app: app, status: failure.status ?? 0, reason: failure.reason)
            failures[place(of: failure), default: 0] += 1
        }
        for (cause, pushes) in settlement.retryCauses.counts {
            let retry = Failure(app: app, status: cause.status ?? 0, reason: cause.reason)
            retries[place(of: retry), default: 0] += pushes
        }
    }

    // MARK: Bounds

    /// So many apps are counted that the database does not have; the next ones are counted as number 0, all together.
    private static let mostStrangers = 100
    /// So many pairs of status and reason are counted for one app; a gateway that makes up more of them gets the next
    /// ones counted as one.
    private static let mostReasons = 64

    private func place(of app: Int32) -> Int32 {
        if names[app] != nil || apps[app] != nil { return app }
        return apps.count < names.count + Self.mostStrangers ? app : 0
    }

    private mutating func place(of failure: Failure) -> Failure {
        if failures[failure] != nil || retries[failure] != nil { return failure }
        guard reasons[failure.app, default: 0] < Self.mostReasons else {
            return Failure(app: failure.app, status: 0, reason: "OtherReasons")
        }
        reasons[failure.app, default: 0] += 1
        return failure
    }
}
