import CarillonPostgres

@testable import CarillonPushQueue

/// How jobs return to the queue: when they are due, when their claim is released, and after the death of their worker.
extension ModelDatabase {
    func isDue(after start: DueFloor.Position) -> Bool {
        start.time.microseconds > now || !due(after: start).isEmpty
    }

    private func due(after start: DueFloor.Position) -> [DueFloor.Position] {
        tables.dates.filter { $0.value <= now }.map { DueFloor.Position(time: Moment($0.value), id: $0.key) }
            .filter { $0 > start }
    }

    /// Leaves the cost to the caller.
    mutating func promote(maxRows: Int = 1000, after start: DueFloor.Position = .beginning) -> PromotionRows {
        let now = self.now
        let start = start.time.microseconds > now ? .beginning : start
        let due = due(after: start).sorted().prefix(maxRows)
        var answer = PromotionRows()
        answer.next = due.count < maxRows ? DueFloor.Position(time: Moment(now), id: .max) : due.last ?? start
        guard !due.isEmpty else { return answer }
        answer.promotions = change { tables in
            var lanes: [Lane: [Int64]] = [:]
            for id in due.map(\.id) {
                tables.dates[id] = nil
                guard let job = tables.scheduled.removeValue(forKey: id) else { continue }
                tables.returned([job])
                lanes[Lane(app: job.app, number: job.lane), default: []].append(id)
            }
            return lanes.sorted { $0.key < $1.key }.map {
                PromotionRows.Promotion(lane: $0.key, lowest: $0.value.min() ?? 0, rows: $0.value.count)
            }
        }
        return answer
    }

    mutating func release(_ claims: [ClaimKey], of worker: Int64) {
        change { tables in
            for key in claims {
                guard let claim = tables.inflight[key.id], claim.worker == worker, claim.claimedAt == key.claimedAt
                else { continue }
                tables.inflight[key.id] = nil
                tables.returned(claim.jobs)
            }
        }
    }

    func strays(of worker: Int64, knowing flights: Set<Int64>) -> [ClaimKey] {
        tables.inflight.values.filter { $0.worker == worker && !flights.contains($0.id) }
            .map { ClaimKey(id: $0.id, claimedAt: $0.claimedAt) }
    }

    /// Whether there are claims of workers without a row.
    var hasOrphans: Bool { tables.inflight.values.contains { tables.workers[$0.worker] == nil } }

    /// Takes over from a dead worker, and from workers without a row. The claims are for the audit.
    mutating func takeOver(from dead: HeartbeatState.Sighting?) -> (workers: Int, claims: [ModelClaim]) {
        change { tables in
            var workers = 0
            if let dead, tables.workers[dead.worker]?.beat == dead.beat {
                tables.workers[dead.worker] = nil
                workers = 1
            }
            let claims = tables.inflight.values.filter { tables.workers[$0.worker] == nil }.sorted { $0.id < $1.id }
            for claim in claims { tables.inflight[claim.id] = nil }
            // All jobs of a worker and an app are returned together.
            var together: [[Int64]: [ModelJob]] = [:]
            for claim in claims { together[[claim.worker, Int64(claim.app)], default: []] += claim.jobs }
            for (_, jobs) in together.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) { tables.recover(jobs) }
            return (workers, claims)
        }
    }

    /// Returns in how many microseconds a turn for that many pushes begins, or nil if there is none soon.
    mutating func takeTurn(of app: Int32, pushes: Int) -> Int64? {
        guard let rate = SimulatedApp.row(app).app.settings.maxRate else { return 0 }
        let now = self.now
        let next = tables.turns[app] ?? now
        let begins = next < now || next > now + 60_000_000 ? now : next
        guard begins <= now + 1_000_000 else { return nil }
        changeForNow { $0.turns[app] = begins + Int64(pushes) * 1_000_000 * 10 / (Int64(rate) * 9) }
        return begins - now
    }

    mutating func split(_ message: Int64, in lane: Lane, size: Int) -> Int {
        change { tables in
            guard let job = tables.messages[message], job.app == lane.app, job.lane == lane.number else { return 0 }
            tables.messages[message] = nil
            if tables.cancelled.contains(job.message) {
                tables.cancel([job])
                return 0
            }
            return tables.cut(job, size: size)
        }
    }
}

extension ModelTables {
    /// Returns jobs to the queue, except those that were cancelled.
    fileprivate mutating func returned(_ jobs: [ModelJob]) {
        cancel(jobs.filter { cancelled.contains($0.message) })
        for job in jobs where !cancelled.contains(job.message) { messages[job.id] = job }
    }

    /// Returns the jobs of a dead worker.
    fileprivate mutating func recover(_ jobs: [ModelJob]) {
        let repeatable = jobs.filter(\.mayRepeat)
        let fresh = repeatable.filter { $0.lostClaims == 2 }.reduce(0) { $0 + $1.tokens.count }
        let quarantined = repeatable.filter(\.isQuarantined).reduce(0) { $0 + $1.tokens.count }
        for job in jobs { recover(job, together: job.isQuarantined ? quarantined : fresh) }
    }

    private mutating func recover(_ job: ModelJob, together: Int) {
        var job = job
        job.countDeath(together: together)
        if !job.mayRepeat {
            fail(job, reason: "OutcomeUnknown")
        } else if job.lostClaims >= 13, job.tokens.count == 1 {
            fail(job, reason: "Poison")
        } else if job.isQuarantined, job.tokens.count > 1, !cancelled.contains(job.message) {
            _ = cut(job, size: 1)
        } else {
            returned([job])
        }
    }

    /// Fails all pushes of a job.
    fileprivate mutating func fail(_ job: ModelJob, reason: String) {
        for token in job.tokens {
            failures.append(
                ModelFailure(message: job.message, token: token, status: nil, reason: reason, attempt: job.attempt)
            )
        }
        var step = ModelProgress(message: job.message, app: job.app)
        step.failed = job.tokens.count
        step.attempts = job.attempt
        if job.origin == nil { results.append(step) } else { progress([(step, 0)]) }
    }
}
