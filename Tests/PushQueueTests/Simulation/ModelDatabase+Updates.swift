import ApplePush

@testable import CarillonPushQueue

/// The order of updates of Live Activities.
extension ModelDatabase {
    /// What `order_updates` returns.
    mutating func order(_ places: [Int32], of jobs: ClaimedJobs, as worker: Int64) -> PushDecisions? {
        guard let claim = self.tables.inflight[jobs.id], claim.worker == worker, claim.claimedAt == jobs.claimedAt
        else { return nil }
        let pushes = zip(jobs.jobs(of: places), places).map { ($0, jobs.batch.token(of: Int($1))) }
        let now = self.now
        return change { tables in
            var held: [Int: (message: Int64, token: String)] = [:]
            for (place, (id, token)) in pushes.enumerated() {
                guard let job = claim.jobs.first(where: { $0.id == id }), job.tokens.contains(token) else { continue }
                held[place] = (job.message, token)
            }
            let stamps = tables.order(held, count: pushes.count, at: now)
            let gone = pushes.indices.filter { stamps[$0].map { $0 < 0 } ?? true }
            tables.withdraw(
                gone.map { Leaving(job: pushes[$0].0, token: pushes[$0].1, until: stamps[$0].map { now - $0 }) },
                from: claim
            )
            let decisions = stamps.map { stamp -> PushDecisions.Decision in
                guard let stamp else { return .superseded }
                return stamp < 0 ? .later : .send(stamp: stamp)
            }
            return PushDecisions(decisions: decisions, superseded: decisions.count { $0 == .superseded })
        }
    }
}

extension ModelDatabase {
    /// Forgets the times of the last updates, as if they had been sent long ago.
    mutating func forgetStamps() {
        change { tables in for token in tables.stamps.keys { tables.stamps[token]?.stamp = 0 } }
    }
}

/// A push that leaves a claim: it ends, or waits until that time.
struct Leaving {
    let job: Int64
    let token: String
    var until: Int64?
}

extension ModelTables {
    /// Decides which pushes are sent, and notes them. Returns the time of each; nil if a newer update exists; and a negative number
    /// of microseconds if it has to wait.
    fileprivate mutating func order(
        _ held: [Int: (message: Int64, token: String)],
        count: Int,
        at now: Int64
    ) -> [Int64?] {
        let seconds = now.floored(by: 1_000_000)
        var answer = [Int64?](repeating: nil, count: count)
        var newest: [String: ModelPlace] = [:]
        for (place, push) in held {
            guard let known = self.place(of: push, at: now) else {
                answer[place] = seconds
                continue
            }
            newest[push.token] = max(newest[push.token] ?? known, known)
        }
        for (token, next) in newest {
            let isOld = (updates[token] ?? [:]).values.contains { update in
                update.place > next && update.place.dueAt <= now && update.expiresAt.map { $0 > now } ?? true
            }
            guard !isOld, let stamp = wait(next, of: token, at: now).map({ -$0 }) ?? stamp(next, of: token, seconds)
            else { continue }
            for (place, push) in held where push.token == token && push.message == next.message {
                answer[place] = stamp
            }
        }
        return answer
    }

    /// The place of an update among those of its token; nil if the token has none.
    private func place(of push: (message: Int64, token: String), at now: Int64) -> ModelPlace? {
        if let update = updates[push.token]?[push.message] { return update.place }
        guard let last = stamps[push.token] else { return nil }
        if last.place.message == push.message { return last.place }
        let dueAt = push.message > last.highest ? max(now, last.place.dueAt) : .min
        return ModelPlace(dueAt: dueAt, message: push.message)
    }

    /// How long an update waits because its time would be too far ahead of the clock; nil if it is sent.
    private func wait(_ next: ModelPlace, of token: String, at now: Int64) -> Int64? {
        let lead: Int64 = 5
        let seconds = now.floored(by: 1_000_000)
        guard let last = stamps[token], last.place.message != next.message, last.place < next,
            (seconds + lead)...(seconds + 60) ~= last.stamp
        else { return nil }
        return (last.stamp + 1 - lead) * 1_000_000 - now
    }

    private mutating func stamp(_ next: ModelPlace, of token: String, _ seconds: Int64) -> Int64? {
        let older = (updates[token] ?? [:]).filter { $0.value.place <= next }
        let highest = max(next.message, older.keys.max() ?? 0)
        var row = ModelStamp(place: next, highest: highest, stamp: seconds)
        if let last = stamps[token] {
            let isAgain = last.place.message == next.message
            guard isAgain || last.place < next else { return nil }
            row.place.dueAt = max(last.place.dueAt, next.dueAt)
            row.highest = max(last.highest, highest)
            row.stamp = isAgain ? last.stamp : max(seconds, last.stamp + 1)
        }
        stamps[token] = row
        updates[token] = updates[token]?.filter { $0.value.place > next }
        if updates[token]?.isEmpty == true { updates[token] = nil }
        return row.stamp
    }

    /// Cancelled updates supersede no older one.
    mutating func forgetUpdates(_ jobs: [ModelJob]) {
        for job in jobs where job.isUpdate {
            for token in job.tokens {
                updates[token]?[job.message] = nil
                if updates[token]?.isEmpty == true { updates[token] = nil }
            }
        }
    }
}

extension Int64 {
    fileprivate func floored(by unit: Int64) -> Int64 { self / unit - (self % unit < 0 ? 1 : 0) }
}
