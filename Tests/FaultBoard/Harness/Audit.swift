import ApplePushSimulator

/// Compares what was enqueued, what the tables say and what the simulator received. A value without I/O.
struct Audit {
    /// How often a push whose outcome is unknown is sent again.
    private static let maxResends = 3

    /// What a case is allowed to have.
    struct Allowance {
        /// 200s beyond the first of a push: as many as were in flight at a fault (I4).
        var duplicates = 0
        /// Reasons of Carillon's own that may be in `failures`, besides the gateway's (I3).
        var localReasons: Set<String> = []
    }

    struct Breach: CustomStringConvertible {
        let invariant: String
        let sentence: String

        var description: String { "\(invariant): \(sentence)" }
    }

    let committed: [String: Ledger.Message]
    let maybe: [String: Ledger.Message]
    let outcomes: RecordedOutcomes
    /// By token.
    let sightings: [String: Sightings]
    let allowance: Allowance
    private(set) var breaches: [Breach] = []
    /// 200s beyond the first of each push.
    private(set) var duplicates = 0

    init(_ ledger: Ledger, _ outcomes: RecordedOutcomes, _ deliveries: [ReceivedRequest], _ allowance: Allowance) {
        committed = ledger.committed
        maybe = ledger.maybe
        self.outcomes = outcomes
        sightings = Sightings.sorted(deliveries)
        self.allowance = allowance
        check()
    }

    private mutating func check() {
        for message in committed.values { check(message) }
        for message in maybe.values {
            if outcomes.results[message.reference] != nil {
                check(message)
            } else {
                for token in message.tokens where sightings[token] != nil {
                    add("I1", "\(message.reference) was sent to \(token), and has no result")
                }
            }
        }
        checkStrangers()
        checkIdentity()
        checkDuplicates()
        checkRemains()
    }

    // MARK: One message

    private mutating func check(_ message: Ledger.Message) {
        let name = message.reference
        guard let results = outcomes.results[name] else {
            let seen = message.tokens.filter { sightings[$0] != nil }.count
            return add("I1", "\(name) has no result; \(seen) of its \(message.tokens.count) tokens were sent to")
        }
        guard results.count == 1, let result = results.first else {
            return add("I1", "\(name) has \(results.count) results")
        }
        let failures = outcomes.failures[name] ?? []
        if result.total != message.tokens.count {
            add("I1", "\(name) has \(message.tokens.count) tokens and the outcomes of \(result.total): \(result)")
        }
        if failures.count != result.failed || Set(failures.map(\.token)).count != failures.count {
            add("I1", "\(name) counts \(result.failed) failed and \(failures.count) are in failures: \(failures)")
        }
        // A message may have a hundred thousand device tokens that all fail.
        let tokens = failures.isEmpty ? [] : Set(message.tokens)
        for failure in failures {
            if tokens.contains(failure.token) {
                check(failure, of: message)
            } else {
                add("I1", "\(name) failed for \(failure.token), which is none of its tokens")
            }
        }
        let failed = Set(failures.map(\.token))
        let others = message.tokens.filter { !failed.contains($0) }
        let accepted = others.filter { wasAccepted($0, of: message) }
        if accepted.count < result.sent {
            let missing = others.first { !accepted.contains($0) } ?? "?"
            add("I2", "\(name) counts \(result.sent) sent, the gateway took \(accepted.count); not \(missing)")
        }
    }

    private func wasAccepted(_ token: String, of message: Ledger.Message) -> Bool {
        guard let sightings = self.sightings[token], sightings.accepted > 0 else { return false }
        return sightings.first.topic == message.topic && sightings.first.payload.elementsEqual(message.payload.utf8)
    }

    private mutating func check(_ failure: RecordedOutcomes.Failure, of message: Ledger.Message) {
        if let status = failure.status {
            let answer = "\(status) \(failure.reason)"
            guard sightings[failure.token]?.refusals.contains(answer) != true else { return }
            add("I3", "\(message.reference) failed for \(failure.token) with \(answer): nobody answered that")
        } else if !allowance.localReasons.contains(failure.reason) {
            add("I3", "\(message.reference) failed for \(failure.token) here: \(failure.reason)")
            // Not by the requests that the gateway has seen: a relay may have swallowed some of them.
        } else if failure.reason == "OutcomeUnknown", message.mayRepeat, failure.attempt <= Self.maxResends {
            add("I3", "\(message.reference) failed for \(failure.token) as unknown, and may be repeated")
        }
    }

    // MARK: All together

    private mutating func checkStrangers() {
        for reference in outcomes.results.keys
        where committed[reference] == nil && maybe[reference] == nil {
            add("I1", "\(reference) has a result and was never enqueued")
        }
        var known: Set<String> = []
        for message in committed.values { known.formUnion(message.tokens) }
        for message in maybe.values { known.formUnion(message.tokens) }
        for token in sightings.keys where !known.contains(token) {
            add("I1", "\(token) was sent to and never enqueued")
        }
    }

    private mutating func checkIdentity() {
        var owners: [String: String] = [:]
        for (token, sightings) in self.sightings {
            if let difference = sightings.difference { add("I5", "sends to \(token) differ: \(difference)") }
            guard sightings.first.hasIdentity else { continue }
            if let other = owners.updateValue(token, forKey: sightings.first.apnsID) {
                add("I5", "\(token) and \(other) have one apns-id, \(sightings.first.apnsID)")
            }
        }
    }

    private mutating func checkDuplicates() {
        let twice = sightings.filter { $0.value.accepted > 1 }
        duplicates = twice.values.reduce(0) { $0 + $1.accepted - 1 }
        guard duplicates > allowance.duplicates else { return }
        let examples = twice.keys.prefix(3).joined(separator: ", ")
        add("I4", "\(duplicates) sent once too often, \(allowance.duplicates) allowed; such as \(examples)")
    }

    private mutating func checkRemains() {
        if outcomes.inFlight > 0 { add("I6", "\(outcomes.inFlight) claims are still in flight") }
        if outcomes.waiting > 0 { add("I1", "\(outcomes.waiting) jobs still wait") }
        if outcomes.unfinished > 0 { add("I1", "\(outcomes.unfinished) messages are unfinished") }
        for token in outcomes.wrongDeletions {
            add("I13", "\(token) was deleted, though it was registered after all that was heard of it")
        }
        if outcomes.deadlocks > 0 { add("I15", "PostgreSQL has seen \(outcomes.deadlocks) deadlocks") }
    }

    private mutating func add(_ invariant: String, _ sentence: String) {
        breaches.append(Breach(invariant: invariant, sentence: sentence))
    }
}
