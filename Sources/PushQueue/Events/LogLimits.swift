import ApplePush
import CarillonIO

/// How often events that repeat are logged.
struct LogLimits: Sendable {
    /// Why pushes of an app are tried again.
    private struct AppCause: Hashable {
        let app: Int32
        let cause: RetryCause
    }

    private var errors = RepeatedEvents<String>(interval: .seconds(30))
    private var retries = RepeatedEvents<AppCause>(interval: .seconds(60))
    private var topics = TopicRefusalEvents()

    /// How many errors of that kind were suppressed before this one, or nil if this one is suppressed too.
    mutating func suppressed(_ error: String, at now: MonotonicInstant) -> Int? {
        errors.add(of: error, at: now).map { $0 - 1 }
    }

    /// The events of a settlement: pushes that are tried again, and topics that are refused.
    /// - Parameter name: The name of the app, or nil if it has no row.
    mutating func events(
        of settlement: Settlement,
        from jobs: ClaimedJobs,
        by name: String?,
        at now: MonotonicInstant
    ) -> [WorkerEvent] {
        let refusals = topics.settled(settlement.topicRefusals, sent: settlement.tally.sent, of: jobs.app, at: now)
        let causes = settlement.retryCauses.all
        guard let name else { return [] }
        var events: [WorkerEvent] = []
        for (cause, pushes) in causes {
            if let suppressed = retries.add(pushes, of: AppCause(app: jobs.app, cause: cause), at: now) {
                events.append(.retrying(app: name, cause, pushes: suppressed))
            }
        }
        for item in refusals {
            events.append(.topicRefused(app: name, topic: jobs.batch.topic(of: Int(item.refusal.first)), item))
        }
        return events
    }
}
