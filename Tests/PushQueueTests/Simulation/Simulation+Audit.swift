import ApplePush

@testable import CarillonPushQueue

/// The invariants of docs/testing.md, checked when a run is over.
extension Simulation {
    /// Everything that is wrong.
    func audit() -> [String] {
        let tables = database.tables
        var wrongs = breaches
        if !tables.isDrained {
            wrongs.append(
                """
                I8: not drained: \(tables.messages.count) ready, \(tables.scheduled.count) scheduled, \
                \(tables.inflight.count) in flight, \(tables.unfinished.count) unfinished
                """
            )
            return wrongs
        }
        let results = Dictionary(grouping: tables.results, by: \.message)
        let failures = Dictionary(grouping: tables.failures, by: \.message)
        for (message, job) in enqueued.sorted(by: { $0.key < $1.key }) {
            let ends = results[message] ?? []
            guard ends.count == 1, let end = ends.first else {
                wrongs.append("I1: message \(message) has \(ends.count) results")
                continue
            }
            if end.ended != job.tokens.count {
                wrongs.append("I1: message \(message) had \(job.tokens.count) tokens and ends with \(end)")
            }
            let failed = failures[message] ?? []
            let sent = job.tokens.filter { tables.sent[ModelPush(message: message, token: $0)] != nil }
            let both = Set(failed.map(\.token)).intersection(sent)
            if failed.count != end.failed || Set(failed.map(\.token)).count != failed.count {
                wrongs.append("I1: message \(message) has failures \(failed) and ends with \(end)")
            }
            if sent.count != end.sent || !both.isEmpty {
                wrongs.append("I1: of message \(message) were sent \(sent), and it ends with \(end)")
            }
            if end.attempts > SimulatedApp.maxAttempts {
                wrongs.append("I9: message \(message) had \(end.attempts) attempts")
            }
        }
        for (push, times) in tables.sent where times != 1 { wrongs.append("I1: \(push) was written \(times) times") }
        wrongs += auditPushes()
        wrongs += auditUpdates()
        return wrongs
    }

    /// A device shows the update with the latest time. This must be the newest of those that were sent, even if others were sent
    /// again.
    private func auditUpdates() -> [String] {
        var wrongs: [String] = []
        for (push, times) in stamps where times.count != 1 || times.contains(0) {
            wrongs.append("I14: \(push) was sent with the times \(times.sorted())")
        }
        // The order is by the database's clock.
        guard faults.clockJumps == 0 else { return wrongs }
        for (token, updates) in Dictionary(grouping: stamps, by: \.key.token) {
            let pushes = updates.sorted { ($0.value.min() ?? 0) < ($1.value.min() ?? 0) }.map(\.key)
            let times = updates.compactMap { $0.value.min() }
            if pushes != pushes.sorted(by: isOlder) || Set(times).count != times.count {
                wrongs.append("I14: \(token) shows \(pushes.map(\.message)) with the times \(times)")
            }
        }
        return mayHaveForgotten ? wrongs : wrongs + auditNewest()
    }

    private func isOlder(_ one: ModelPush, _ other: ModelPush) -> Bool {
        guard let first = places[one], let second = places[other] else { return false }
        return first < second
    }

    /// The newest update of a token must not be superseded.
    private func auditNewest() -> [String] {
        let results = Dictionary(grouping: database.tables.results, by: \.message)
        return Dictionary(grouping: places.keys, by: \.token).compactMap { token, pushes in
            guard let newest = pushes.max(by: isOlder), !cancelled.contains(newest.message),
                database.tables.sent[newest] == nil,
                !database.tables.failures.contains(where: { $0.message == newest.message && $0.token == token }),
                results[newest.message]?.first?.expired == 0
            else { return nil }
            return "I14: \(newest), the newest of its token, was superseded"
        }
    }

    private func auditPushes() -> [String] {
        var wrongs = gateway.confusions.map { "I5: \($0) stands for two pushes" }
        var records: [ModelPush: ModelGateway.Record] = [:]
        for record in gateway.records.values {
            if records.updateValue(record, forKey: record.push) != nil {
                wrongs.append("I5: \(record.push) has two identities")
            }
            if record.deliveries > 1 + record.excuses || record.sends > 1 + record.excuses {
                wrongs.append("I4: \(record)")
            }
        }
        for push in database.tables.sent.keys where (records[push]?.deliveries ?? 0) == 0 {
            wrongs.append("I2: \(push) was never delivered")
        }
        for failure in database.tables.failures {
            let record = records[ModelPush(message: failure.message, token: failure.token)]
            let isJust =
                switch failure.reason {
                case "Unregistered", "BadDeviceToken": (record?.refusals ?? 0) > 0
                case "Unrecorded": database.tables.unwritable.contains(failure.message)
                case "OutcomeUnknown": true
                case "Poison": (record?.excuses ?? 0) >= 5
                default: Int32(failure.attempt) >= SimulatedApp.maxAttempts
                }
            if !isJust { wrongs.append("I3: \(failure) with \(String(describing: record))") }
        }
        return wrongs
    }
}
