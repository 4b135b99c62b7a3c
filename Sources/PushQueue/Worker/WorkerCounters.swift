package import ApplePush
package import CarillonIO

/// What a worker has done since it started, and its present state.
package struct WorkerCounters: Sendable {
    /// Why pushes failed or are retried.
    package struct FailureKey: Hashable, Sendable {
        package let app: Int32
        /// 0: not sent, or not answered.
        package let status: Int16
        package let reason: String
    }

    package enum Readiness: Sendable {
        case ready
        case disconnected
        /// Connected, but the database has not answered for a while.
        case silent
        /// It has not renewed its lease in time, so it sends nothing.
        case leaseUnproven
    }

    package internal(set) var apps: [Int32: Settlement.Tally] = [:]
    package internal(set) var failures: [FailureKey: Int] = [:]
    package internal(set) var retries: [FailureKey: Int] = [:]
    /// How many kinds of failures and retries each app has.
    private var reasons: [Int32: Int] = [:]
    package internal(set) var names: [Int32: String] = [:]
    // Each of these has a line in the table of metrics below. Dictionaries are by the names of apps.
    package internal(set) var waits = DurationHistogram()
    package internal(set) var claims = 0
    package internal(set) var jobs = 0
    /// Settlements of claims that another worker had taken over.
    package internal(set) var stale = 0
    /// Jobs whose outcome PostgreSQL refused to record.
    package internal(set) var unrecorded = 0
    package internal(set) var takeovers = 0
    package internal(set) var databaseErrors = 0
    package internal(set) var reaped: [String: Int] = [:]
    package internal(set) var feedbackHandled = 0
    package internal(set) var feedbackPasses = DurationHistogram()
    package internal(set) var feedbackFaults = 0
    package internal(set) var breakers: [String: Int] = [:]
    package internal(set) var inFlight = 0

    package internal(set) var isConnected = false
    /// It was told to end at once, or draining took too long.
    package internal(set) var hasGivenUp = false
    /// Since when it has slept; nil if it is awake.
    package internal(set) var asleepSince: MonotonicInstant?
    var answeredAt: MonotonicInstant?
    var leaseEnd: MonotonicInstant?

    package init() {}

    package var total: Settlement.Tally { .sum(apps.values) }

    /// The worker queries the database more than once a second, and in its sleep every half minute.
    private static let longestSilence = (awake: Duration.seconds(4), asleep: Duration.seconds(35))

    package func readiness(at now: MonotonicInstant) -> Readiness {
        guard isConnected, let answeredAt, let leaseEnd else { return .disconnected }
        if asleepSince != nil { return now - answeredAt < Self.longestSilence.asleep ? .ready : .silent }
        guard now - answeredAt < Self.longestSilence.awake else { return .silent }
        return now < leaseEnd ? .ready : .leaseUnproven
    }

    mutating func addSuperseded(_ pushes: Int, of app: Int32) {
        guard pushes > 0 else { return }
        apps[place(of: app), default: Settlement.Tally()].superseded += pushes
    }

    mutating func add(_ settlement: Settlement, of app: Int32) {
        let app = place(of: app)
        apps[app, default: Settlement.Tally()] += settlement.tally
        for failure in settlement.failures {
            let failure = FailureKey(app: app, status: failure.status ?? 0, reason: failure.reason)
            failures[place(of: failure), default: 0] += 1
        }
        for (cause, pushes) in settlement.retryCauses.all {
            let retry = FailureKey(app: app, status: cause.status ?? 0, reason: cause.reason)
            retries[place(of: retry), default: 0] += pushes
        }
    }

    // MARK: Bounds

    /// Apps without a row. Further ones are counted together, as app 0.
    private static let maxUnknownApps = 100
    /// Pairs of status and reason of one app. Further ones are counted together.
    private static let maxReasons = 64

    private func place(of app: Int32) -> Int32 {
        if names[app] != nil || apps[app] != nil { return app }
        return apps.count < names.count + Self.maxUnknownApps ? app : 0
    }

    private mutating func place(of failure: FailureKey) -> FailureKey {
        if failures[failure] != nil || retries[failure] != nil { return failure }
        guard reasons[failure.app, default: 0] < Self.maxReasons else {
            return FailureKey(app: failure.app, status: 0, reason: "OtherReasons")
        }
        reasons[failure.app, default: 0] += 1
        return failure
    }
}

extension CountedMetric {
    /// One line for each property, in the order of the page.
    package static let all = [
        Self(
            "carillon_enqueue_to_claim_seconds",
            "Time from enqueueing a job to its first claim, by the database's clock.",
            \.waits
        ),
        Self("carillon_claims_total", "Claims that returned at least one job.", \.claims),
        Self("carillon_claimed_jobs_total", "Jobs claimed.", \.jobs),
        Self(
            "carillon_stale_settlements_total",
            "Settlements that wrote nothing, because another worker had taken over the claim.",
            \.stale
        ),
        Self("carillon_unrecorded_jobs_total", "Jobs whose outcome PostgreSQL refused to record.", \.unrecorded),
        Self("carillon_takeovers_total", "Claims taken over from dead workers.", \.takeovers),
        Self("carillon_database_errors_total", "Statements and connections that failed.", \.databaseErrors),
        Self(
            "carillon_reaped_tokens_total",
            "Tokens deleted by this worker's feedback passes, in any table.",
            byApp: \.reaped
        ),
        Self(
            "carillon_feedback_handled_total",
            "Reports of dead tokens (rows of carillon.feedback) that this worker's feedback passes have handled.",
            \.feedbackHandled
        ),
        Self(
            "carillon_feedback_pass_seconds",
            "Duration of this worker's feedback passes, including pauses.",
            \.feedbackPasses
        ),
        Self(
            "carillon_feedback_pass_errors_total",
            "Errors in watched tables during feedback passes.",
            \.feedbackFaults
        ),
        Self(
            "carillon_breakers_opened_total",
            """
            Number of times that this worker paused an app because most of its pushes failed as BadDeviceToken or because of their topic.
            """,
            byApp: \.breakers
        ),
        Self("carillon_in_flight_pushes", "Pushes claimed, or about to be, and not settled yet.", \.inFlight),
    ]
}
