package import ApplePush
package import CarillonIO

/// What a worker has done since it started, and its present state.
package struct WorkerCounters: Sendable {
    /// How pushes ended, or why they are retried.
    package struct OutcomeKey: Hashable, Sendable {
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

    // Each of these has a line below. Dictionaries with `String` are by the names of apps.
    package internal(set) var apps: [Int32: Settlement.Tally] = [:]
    package internal(set) var failures: [OutcomeKey: Int] = [:]
    package internal(set) var retries: [OutcomeKey: Int] = [:]
    package internal(set) var waits = DurationHistogram()
    package internal(set) var reaped: [String: Int] = [:]
    package internal(set) var feedbackPasses = DurationHistogram()
    package internal(set) var breakers: [String: Int] = [:]
    /// By the raw values of `WorkerCount`.
    private var plain = [Int](repeating: 0, count: WorkerCount.allCases.count)

    var names: [Int32: String] = [:]
    /// How many kinds of failures and retries each app has.
    private var reasons: [Int32: Int] = [:]
    package internal(set) var isConnected = false
    /// It was told to end at once, or draining took too long.
    package internal(set) var hasGivenUp = false
    /// Since when it has slept; nil if it is awake.
    package internal(set) var asleepSince: MonotonicInstant?
    var answeredAt: MonotonicInstant?
    var leaseEnd: MonotonicInstant?

    package init() {}

    package internal(set) subscript(count: WorkerCount) -> Int {
        get { plain[count.rawValue] }
        set { plain[count.rawValue] = newValue }
    }

    package var total: Settlement.Tally { .sum(apps.values) }

    package func name(of app: Int32) -> String { names[app] ?? String(app) }

    /// By the names of apps.
    func counts(_ count: (Settlement.Tally) -> Int) -> [String: Int] {
        Dictionary(apps.map { (name(of: $0.key), count($0.value)) }, uniquingKeysWith: +)
    }

    /// Pushes that have ended. The status of those sent is 200.
    var ended: [OutcomeKey: Int] {
        var ended = failures
        for (app, pushes) in apps {
            ended[OutcomeKey(app: app, status: 200, reason: "")] = pushes.sent
            for (reason, count) in [("Expired", pushes.expired), ("Superseded", pushes.superseded)] where count > 0 {
                ended[OutcomeKey(app: app, status: 0, reason: reason)] = count
            }
        }
        return ended
    }

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
            let failure = OutcomeKey(app: app, status: failure.status ?? 0, reason: failure.reason)
            failures[place(of: failure), default: 0] += 1
        }
        for (cause, pushes) in settlement.retryCauses.all {
            let retry = OutcomeKey(app: app, status: cause.status ?? 0, reason: cause.reason)
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

    private mutating func place(of failure: OutcomeKey) -> OutcomeKey {
        if failures[failure] != nil || retries[failure] != nil { return failure }
        guard reasons[failure.app, default: 0] < Self.maxReasons else {
            return OutcomeKey(app: failure.app, status: 0, reason: "OtherReasons")
        }
        reasons[failure.app, default: 0] += 1
        return failure
    }
}

extension CountedMetric {
    package static let all: [Self] = labelled + WorkerCount.allCases.map(\.metric)

    /// Those with labels, and durations.
    private static let labelled: [Self] = [
        Self(
            "carillon_pushes_total",
            """
            Pushes that ended in this worker's claims, except cancelled ones, by status and reason. The status is 0 if there was \
            no answer. An app's reasons after the first 64 count as OtherReasons, with status 0.
            """
        ) { .byReason($0.ended) },
        Self(
            "carillon_retries_total",
            "Attempts that led to a retry, by status and reason, as in carillon_pushes_total."
        ) { .byReason($0.retries) },
        Self("carillon_returned_pushes_total", "Pushes returned to the queue without counting as an attempt.") {
            .byApp($0.counts(\.returned))
        },
        Self("carillon_unknown_outcomes_total", "Attempts whose outcome is unknown.") { .byApp($0.counts(\.unknown)) },
        Self(
            "carillon_enqueue_to_claim_seconds",
            "Time from enqueueing a job to its first claim, by the database's clock."
        ) { .durations($0.waits) },
        Self("carillon_reaped_tokens_total", "Tokens deleted by this worker's feedback passes, in any table.") {
            .byApp($0.reaped)
        },
        Self("carillon_feedback_pass_seconds", "Duration of this worker's feedback passes, including pauses.") {
            .durations($0.feedbackPasses)
        },
        Self(
            "carillon_breakers_opened_total",
            """
            Number of times that this worker paused an app because most of its pushes failed as BadDeviceToken or because of their topic.
            """
        ) { .byApp($0.breakers) },
    ]
}
