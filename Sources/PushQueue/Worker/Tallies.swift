import ApplePush
import CarillonIO
import CarillonPostgres

/// What is to be written and logged, and how often.
struct Tallies: Sendable {
    /// Why pushes of an app are tried again.
    private struct AppCause: Hashable {
        let app: Int32
        let cause: RetryCause
    }

    /// Counts that are not written yet.
    private var counts: [Int32: Settlement.Tally] = [:]
    /// The last ones could not be written.
    private var areCountsRefused = false
    private var notes = CredentialNotes()
    private var errors = RepeatedEvents<String>(interval: .seconds(30))
    private var retries = RepeatedEvents<AppCause>(interval: .seconds(60))
    private var topics = TopicRefusalEvents()

    // MARK: Counts

    mutating func add(_ tally: Settlement.Tally, of app: Int32) {
        counts[app, default: Settlement.Tally()] += tally
    }

    /// Returns the counts to write, and begins new ones.
    mutating func takeCounts() -> [Int32: Settlement.Tally] {
        defer { counts = [:] }
        return counts
    }

    mutating func countsWritten() { areCountsRefused = false }

    mutating func countsFailed(_ counts: [Int32: Settlement.Tally], _ effect: PostgresError.Effect) {
        areCountsRefused = true
        guard effect == .nothingDone else { return }
        for (app, tally) in counts { add(tally, of: app) }
    }

    /// Most pushes of the app fail because of its settings, so the counts are written at once for the breaker: but for those that
    /// could not be written, which are tried once a second.
    func isSuspect(_ app: Int32) -> Bool {
        guard !areCountsRefused, let counts = counts[app], counts.bad >= 100 else { return false }
        return counts.bad * 2 > counts.sent + counts.failed
    }

    // MARK: Notes

    var hasNotes: Bool { !notes.isEmpty }

    mutating func add(_ note: CredentialNotes.Note) { notes.add(note) }

    /// Returns all notes, in the order in which they are to be written.
    mutating func takeNotes() -> [CredentialNotes.Note] { notes.take() }

    /// The first of these notes was not written. It is written again, unless PostgreSQL refuses it or there is a later one.
    /// - Parameter mayTryNext: Whether the others may be written now.
    /// - Returns: Those to write now.
    mutating func notesFailed(
        _ failed: ArraySlice<CredentialNotes.Note>,
        with error: PostgresError,
        mayTryNext: Bool
    ) -> ArraySlice<CredentialNotes.Note> {
        if !error.isRefusal { failed.prefix(1).forEach { notes.keep($0) } }
        if mayTryNext { return failed.dropFirst() }
        failed.dropFirst().forEach { notes.keep($0) }
        return []
    }

    // MARK: Events

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
