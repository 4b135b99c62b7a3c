import ApplePush

@testable import CarillonPushQueue

/// The limit of background pushes for each device and hour.
extension ModelDatabase {
    /// What `pace_devices` returns.
    mutating func pace(_ places: [Int32], of jobs: ClaimedJobs, as worker: Int64, max: Int32) -> PushDecisions? {
        guard let claim = self.tables.inflight[jobs.id], claim.worker == worker, claim.claimedAt == jobs.claimedAt
        else { return nil }
        let pushes = zip(jobs.jobs(of: places), places).map { ($0, jobs.batch.token(of: Int($1))) }
        let now = self.now
        return change { tables in
            var pacing = Pacing(claim, max: Int(max), now: now, pushes: pushes)
            return pacing.run(&tables)
        }
    }
}

/// One call of `pace_devices`.
private struct Pacing {
    private static let minute: Int64 = 60_000_000
    private static let hour = 60 * minute

    let claim: ModelClaim
    let maxPerDevice: Int
    let now: Int64
    let pushes: [(job: Int64, token: String)]
    private var answer: [PushDecisions.Decision]
    private var messages: [Int64?]
    private var leaving: [Int: Leaving] = [:]
    private var pulled: [(job: ModelJob, until: Int64, replaced: Set<String>)] = []

    init(_ claim: ModelClaim, max: Int, now: Int64, pushes: [(job: Int64, token: String)]) {
        self.claim = claim
        maxPerDevice = max
        self.now = now
        self.pushes = pushes
        answer = Array(repeating: .superseded, count: pushes.count)
        messages = Array(repeating: nil, count: pushes.count)
    }

    mutating func run(_ tables: inout ModelTables) -> PushDecisions {
        var found: [(place: Int, job: ModelJob, token: String)] = []
        for (place, (id, token)) in pushes.enumerated() {
            guard let job = claim.jobs.first(where: { $0.id == id }), job.tokens.contains(token) else { continue }
            found.append((place, job, token))
        }
        found.sort { ($0.token, $0.job.message, $0.place) < ($1.token, $1.job.message, $1.place) }
        for (place, job, token) in found { pace(place, job, token, &tables) }
        var all = Array(leaving.values)
        for source in pulled {
            all += source.job.tokens.map { token in
                Leaving(
                    job: source.job.id,
                    token: token,
                    until: source.replaced.contains(token) ? nil : max(now, source.until)
                )
            }
        }
        tables.withdraw(all, from: claim, pulled: pulled.map(\.job))
        let others = pulled.reduce(0) { $0 + $1.replaced.count }
        return PushDecisions(decisions: answer, superseded: answer.count { $0 == .superseded } + others)
    }

    private mutating func pace(_ place: Int, _ job: ModelJob, _ token: String, _ tables: inout ModelTables) {
        let before = tables.slots[token] ?? []
        let hasOwn = before.contains { $0.message == job.message }
        var known = before.filter { $0.at > now - Self.hour && $0.message != job.message }
        let taken = known.filter { !hasOwn || $0.at <= now }.map(\.at).sorted()
        messages[place] = job.message
        answer[place] = .send(stamp: nil)
        var slot = ModelSlot(at: now, message: job.message, isPersonal: job.isPersonal)
        defer {
            if answer[place] != .superseded { known.append(slot) }
            tables.slots[token] = known
            if answer[place] != .send(stamp: nil) {
                let minutes = (slot.at - now + Self.minute - 1) / Self.minute
                let until = answer[place] == .later ? now + minutes * Self.minute : nil
                leaving[place] = Leaving(job: job.id, token: token, until: until)
            }
        }
        guard taken.count >= maxPerDevice else { return }
        answer[place] = .later
        let free = taken[taken.count - maxPerDevice] + Self.hour
        slot.at = now + (free - now + Self.minute - 1) / Self.minute * Self.minute
        let waiting = known.filter { $0.isPersonal == job.isPersonal && $0.at > now }.max { $0.message < $1.message }
        guard let waiting else { return }
        let other = pushes.indices.first {
            messages[$0] == waiting.message && pushes[$0].token == token && answer[$0] == .later
        }
        let source = other == nil ? find(waiting.message, token, pulls: waiting.message < job.message, &tables) : nil
        if waiting.message > job.message, other != nil || source != nil {
            answer[place] = .superseded
            return
        }
        slot.at = waiting.at
        known.removeAll { $0.message == waiting.message }
        if let other {
            answer[other] = .superseded
            leaving[other]?.until = nil
        } else if let source, pulled.indices.contains(source) {
            pulled[source].replaced.insert(token)
        }
    }

    /// The place of a waiting job in `pulled`; nil if it does not wait. If `pulls`, it is moved there from `scheduled`.
    private mutating func find(_ message: Int64, _ token: String, pulls: Bool, _ tables: inout ModelTables) -> Int? {
        if let place = pulled.firstIndex(where: { $0.job.message == message && $0.job.tokens.contains(token) }) {
            return place
        }
        let waiting = tables.scheduled.values.first {
            $0.app == claim.app && $0.message == message && $0.tokens.contains(token)
        }
        guard let waiting else { return nil }
        guard pulls else { return .max }
        tables.scheduled[waiting.id] = nil
        pulled.append((waiting, tables.dates.removeValue(forKey: waiting.id) ?? now, []))
        return pulled.count - 1
    }
}

extension ModelTables {
    /// Takes pushes that end or wait out of a claim, and out of pulled jobs of `scheduled`.
    mutating func withdraw(_ leaving: [Leaving], from claim: ModelClaim, pulled: [ModelJob] = []) {
        guard !leaving.isEmpty else { return }
        var rest = claim
        rest.jobs = []
        var ended: [ModelJob] = []
        for job in claim.jobs + pulled {
            /// Until when they wait, or nil if they end. Tokens without an entry stay.
            let fates = Dictionary(
                leaving.filter { $0.job == job.id && job.tokens.contains($0.token) }.map { ($0.token, $0.until) }
            ) { first, _ in first }
            let stays = job.tokens.filter { fates[$0] == nil }
            let times = Set(fates.values)
            let pieces = times.count + (stays.isEmpty ? 0 : 1)
            if pieces > 1, job.origin == nil {
                var known = ModelProgress(message: job.id, app: job.app)
                known.remaining = job.tokens.count
                known.attempts = job.attempt - 1
                unfinished[job.id] = known
            }
            func piece(_ tokens: [String]) -> ModelJob {
                var piece = job
                piece.tokens = tokens
                if pieces > 1 { piece.origin = job.message }
                return piece
            }
            if !stays.isEmpty { rest.jobs.append(piece(stays)) }
            for time in times {
                var part = piece(job.tokens.filter { fates[$0] == .some(time) })
                guard let time else {
                    ended.append(part)
                    continue
                }
                if pieces > 1 { part.id = messageID() }
                scheduled[part.id] = part
                dates[part.id] = time
            }
        }
        inflight[claim.id] = rest.jobs.isEmpty ? nil : rest
        cancel(ended)
    }
}
