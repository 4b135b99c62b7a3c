import CarillonPostgres
import CarillonSchema
import CarillonText

/// The recorded events of a message, in order.
struct MessageTimeline {
    struct Event {
        /// Nil if the time was not recorded.
        let at: Moment?
        var isNow = false
        let text: String
        let mark: StateMark
    }

    private static let shownFailures = 20

    let message: MessageStatus
    let flights: [MessageFlight]
    let failures: [MessageFailure]
    let workers: [WorkerResults]

    /// The events in order of time, future ones last.
    var events: [Event] {
        let dated = past.sorted { ($0.at?.microseconds ?? .min) < ($1.at?.microseconds ?? .min) }
        return dated + future
    }

    private var past: [Event] {
        var events = [Event(at: message.createdAt, text: enqueued, mark: .quiet)]
        events += flights.map { flight in
            let by = flight.worker.map { " by worker \($0)" } ?? ""
            let text =
                "Claimed\(by): attempt \(flight.attempt), \(Counted.text(flight.tokens, "push", "pushes")) in flight."
            return Event(at: flight.claimedAt, text: text, mark: .attention)
        }
        for failure in failures.prefix(Self.shownFailures).map(\.record) {
            let token = TokenDisplay.short(failure.token)
            events.append(
                Event(
                    at: failure.failedAt,
                    text: "Attempt \(failure.attempt) to \(token) failed: \(failure.answer).",
                    mark: .bad
                )
            )
            if let dead = failure.unregisteredAt {
                events.append(Event(at: dead, text: "The token \(token) became dead, according to Apple.", mark: .bad))
            }
            if let requeued = failure.requeuedAt {
                events.append(
                    Event(at: requeued, text: "The push to \(token) was requeued as a new message.", mark: .attention)
                )
            }
        }
        if failures.count > Self.shownFailures {
            // Failures are read after the counts, so there may be more of them.
            let others = Int64(max(message.ended.failed, failures.count) - Self.shownFailures)
            events.append(
                Event(
                    at: failures[Self.shownFailures].record.failedAt,
                    text: "And \(Counted.text(others, "more failure")).",
                    mark: .bad
                )
            )
        }
        let isSample = workers.reduce(0) { $0 + $1.jobs } >= WorkerResults.jobDepth
        if workers.count > 1 || (message.finishedAt == nil && !workers.isEmpty) {
            events += workers.map { share in
                let scope = isSample ? "Of the jobs read, " : ""
                let jobs = Counted.text(share.jobs, "job", "jobs")
                return Event(
                    at: share.finishedAt,
                    text: "\(scope)\(jobs) finished by \(share.worker) so far: "
                        + "\(share.ended.texts.joined(separator: ", ")).",
                    mark: share.ended.sent == share.ended.total ? .good : .attention
                )
            }
        }
        if let finished = message.finishedAt {
            let isAlone = workers.count == 1 && !isSample && workers[0].ended.total == message.ended.total
            let by = isAlone ? " Finished by \(workers[0].worker)." : ""
            events.append(
                Event(
                    at: finished,
                    text: "It ended: \(message.counts).\(by)",
                    mark: StateMark.ofMessage(message.state)
                )
            )
        }
        return events
    }

    private var enqueued: String {
        "Enqueued: \(Counted.text(message.tokens, "push", "pushes"))."
    }

    private var future: [Event] {
        guard message.waiting > 0 else { return [] }
        if let reason = message.waitingReason {
            return [Event(at: nil, isNow: true, text: "It waits: \(reason)".asSentence, mark: .attention)] + due
        }
        return due
    }

    private var due: [Event] {
        guard let next = message.nextAttemptAt else { return [] }
        return [Event(at: next, text: "The next attempt is due.", mark: .attention)]
    }
}
