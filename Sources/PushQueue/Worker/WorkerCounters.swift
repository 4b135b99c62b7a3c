package import ApplePush
package import IO

/// What a worker has done since it started, and what it is doing.
package struct WorkerCounters: Sendable {
    /// Why pushes failed or are retried.
    package struct Failure: Hashable, Sendable {
        package let app: Int32
        /// 0: refused here, or never answered.
        package let status: Int16
        package let reason: String
    }

    /// Whether a worker can do its work, and if not, why.
    package enum Readiness: Sendable {
        case ready
        case disconnected
        /// It is connected, but the database has not answered for a while.
        case silent
        /// Others may take it for dead, so it sends nothing.
        case leaseUnproven
    }

    package internal(set) var apps: [Int32: Settlement.Tally] = [:]
    package internal(set) var failures: [Failure: Int] = [:]
    /// Attempts that were followed by another.
    package internal(set) var retries: [Failure: Int] = [:]
    /// How many kinds of failures and retries each app has.
    private var reasons: [Int32: Int] = [:]
    package internal(set) var names: [Int32: String] = [:]
    /// Claims that brought jobs.
    package internal(set) var claims = 0
    package internal(set) var jobs = 0
    /// How long jobs have waited from enqueueing to their first claim.
    package internal(set) var waits = DurationHistogram()
    /// Claims that were settled too late: another worker had taken them over.
    package internal(set) var stale = 0
    /// Jobs whose outcomes PostgreSQL refused to write.
    package internal(set) var unrecorded = 0
    package internal(set) var takeovers = 0
    package internal(set) var databaseErrors = 0
    /// Dead tokens that were deleted, by the app's name.
    package internal(set) var reaped: [String: Int] = [:]
    /// Rows of `feedback` that were handled.
    package internal(set) var feedbackHandled = 0
    package internal(set) var feedbackPasses = DurationHistogram()
    /// Watched tables that could not be reaped.
    package internal(set) var feedbackFaults = 0
    /// How often breakers have opened, by the app's name.
    package internal(set) var breakers: [String: Int] = [:]
    package internal(set) var inFlight = 0
    package internal(set) var isConnected = false
    /// Why it is not connected.
    package internal(set) var disconnection: String?
    /// When the database has answered last.
    var heardAt: MonotonicInstant?
    var leaseEnd: MonotonicInstant?
    /// Why apps are held.
    package internal(set) var troubles: [Int32: Trouble] = [:]

    package init() {}

    /// All apps together.
    package var total: Settlement.Tally { apps.values.reduce(into: Settlement.Tally()) { $0 += $1 } }

    /// A healthy database answers more than once a second, since it is asked that often.
    private static let longestSilence = Duration.seconds(4)

    package func readiness(at now: MonotonicInstant) -> Readiness {
        guard isConnected, let heardAt, let leaseEnd else { return .disconnected }
        guard now - heardAt < Self.longestSilence else { return .silent }
        return now < leaseEnd ? .ready : .leaseUnproven
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
        apps[app, default: Settlement.Tally()] += settlement.tally
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

    /// Apps that the database does not have. Beyond that number they are counted together, as number 0.
    private static let mostUnknownApps = 100
    /// Pairs of status and reason of one app. Beyond that number they are counted together.
    private static let mostReasons = 64

    private func place(of app: Int32) -> Int32 {
        if names[app] != nil || apps[app] != nil { return app }
        return apps.count < names.count + Self.mostUnknownApps ? app : 0
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
