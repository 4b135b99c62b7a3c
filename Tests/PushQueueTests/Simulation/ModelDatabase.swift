import CarillonIO

@testable import CarillonPushQueue

/// What PostgreSQL does with the statements of workers, as a value: the tables, a clock that an administrator may set, and
/// what a crash undoes. `DifferentialTests` compares it with the real one.
struct ModelDatabase {
    private(set) var tables = ModelTables()
    /// Microseconds since 1970.
    var now: Int64 = 1_800_000_000_000_000
    /// Until then, transactions that bring work notify the workers. It is a sequence, so no rollback undoes it.
    var asleepUntil: Int64 = 0
    /// Open transactions of callers that have inserted a row.
    var holders: Set<String> = []
    /// The apps that are paused. No crash undoes a change of an app.
    private(set) var paused: Set<Int32> = []
    /// See `AppWithSecret.fingerprint`.
    private(set) var fingerprint: [Int64] = [2, 1, 1, 1]
    /// The tables before each transaction that is not certain to be on disk: a crash may go back to any of them.
    private var undone: [ModelTables] = []

    /// A crash could undo something that was confirmed.
    var mayForget: Bool { !undone.isEmpty }

    /// A transaction that waits until it and all earlier ones are on disk.
    mutating func change<R>(_ body: (inout ModelTables) -> R) -> R {
        undone.removeAll()
        return body(&tables)
    }

    /// A transaction that a crash may undo.
    mutating func changeForNow<R>(_ body: (inout ModelTables) -> R) -> R {
        undone.append(tables)
        return body(&tables)
    }

    /// The server crashes, and comes back with what is on disk.
    mutating func crash(using generator: inout some RandomNumberGenerator) {
        if let survivor = (undone + [tables]).randomElement(using: &generator) { tables = survivor }
        undone.removeAll()
        holders = []
    }

    // MARK: Callers

    mutating func insert(_ job: ModelJob, isUnwritable: Bool = false) -> Int64 {
        let call = self.call(with: job)
        commit(call, isUnwritable: isUnwritable)
        return call.job.id
    }

    /// An open transaction of a caller, which has its id.
    struct Call {
        var job: ModelJob
        /// The place of each of its updates.
        let updates: [String: ModelUpdate]
    }

    mutating func call(with job: ModelJob) -> Call {
        let now = self.now
        var job = job
        job.id = change { $0.messageID() }
        let updates = (job.isUpdate ? job.tokens : []).map { token in
            let dueAt = max(now, tables.stamps[token]?.place.dueAt ?? now)
            let place = ModelPlace(isEnd: job.isEnd, dueAt: dueAt, message: job.id)
            return (token, ModelUpdate(place: place, expiresAt: job.expiresAt))
        }
        return Call(job: job, updates: Dictionary(uniqueKeysWithValues: updates))
    }

    mutating func commit(_ call: Call, isUnwritable: Bool) {
        change { tables in
            tables.messages[call.job.id] = call.job
            for (token, update) in call.updates { tables.updates[token, default: [:]][call.job.id] = update }
            if isUnwritable { tables.unwritable.insert(call.job.id) }
        }
    }

    /// Cancels the jobs that are not claimed.
    mutating func cancel(_ message: Int64) -> Int {
        change { tables in
            let known = tables.unfinished[message]
            var taken: [ModelJob] = []
            if let job = tables.messages.removeValue(forKey: message) { taken.append(job) }
            for job in tables.scheduled.values where job.id == message || job.origin == message {
                tables.scheduled[job.id] = nil
                tables.dates[job.id] = nil
                taken.append(job)
            }
            if known == nil, !taken.isEmpty {
                tables.cancel(taken)
                return taken.count
            }
            for job in tables.messages.values where job.origin == message {
                tables.messages[job.id] = nil
                taken.append(job)
            }
            let inFlight = tables.inflight.values.flatMap(\.jobs).filter { $0.message == message }
            let left = (known?.remaining ?? 0) - taken.reduce(0) { $0 + $1.tokens.count }
            // Jobs of it that are returned later are not sent again.
            if !inFlight.isEmpty || left > 0 { tables.cancelled.insert(message) }
            tables.cancel(taken)
            return taken.count
        }
    }

    // MARK: Apps

    mutating func mark(_ app: Int32, isPaused: Bool) {
        if isPaused { paused.insert(app) } else { paused.remove(app) }
        fingerprint[1] += 1
    }

    /// The rows that a worker reads.
    func apps(_ ids: [Int32]) -> [AppWithSecret] {
        ids.map { SimulatedApp.row($0, isPaused: paused.contains($0), secret: CredentialText()) }
    }

    mutating func count(_ counts: [Int32: Settlement.Tally]) {
        change { tables in
            for (app, tally) in counts {
                tables.activity[app, default: ModelActivity()].pushes += tally.sent + tally.failed
                tables.activity[app, default: ModelActivity()].bad += tally.bad
            }
        }
    }

    /// Pauses those of these apps most of whose pushes fail, and returns them.
    mutating func openBreakers(of apps: [Int32]) -> [Int32] {
        let opened = apps.filter { tables.activity[$0]?.opensBreaker == true }
        guard !opened.isEmpty else { return [] }
        change { tables in
            for app in opened { tables.activity[app] = nil }
        }
        for app in opened { mark(app, isPaused: true) }
        return opened
    }

    // MARK: Leases

    mutating func register(lease: Int64) -> Int64 {
        let end = now + lease
        return change { tables in
            let id = tables.workerID()
            tables.workers[id] = ModelWorker(lease: lease, leaseUntil: end)
            return id
        }
    }

    /// A heartbeat of a worker that is awake. Returns how many workers there are, or nil if this one was declared dead.
    mutating func heartbeat(_ worker: Int64, lease: Int64) -> Int? {
        let now = self.now
        return change { $0.renew(worker, lease: lease, isAsleep: false, at: now) }
    }

    /// The heartbeats of all other workers.
    func heartbeats(butOf worker: Int64) -> [HeartbeatState.Sighting] {
        tables.workers.filter { $0.key != worker }.map { id, row in
            HeartbeatState.Sighting(
                worker: id,
                beat: row.beat,
                lease: .microseconds(row.lease),
                looksDead: row.leaseUntil < now
            )
        }
    }

    mutating func signOff(_ worker: Int64) -> Bool {
        change { tables in
            if !tables.inflight.values.contains(where: { $0.worker == worker }) { tables.workers[worker] = nil }
            return tables.workers[worker] == nil
        }
    }

    /// Makes all scheduled jobs due, because tests do not wait.
    mutating func makeDue() {
        let now = self.now
        change { tables in
            for id in tables.dates.keys { tables.dates[id] = now }
        }
    }

    /// Gives jobs of split messages the ids that PostgreSQL gave them. Each is found by its message and its lowest token.
    mutating func adopt(_ ids: [String: Int64]) {
        change { tables in
            tables.messages = tables.messages.renamed(ids)
            let dates = tables.dates
            let before = tables.scheduled
            tables.scheduled = before.renamed(ids)
            tables.dates = [:]
            for (id, job) in before { tables.dates[job.id(in: ids)] = dates[id] }
        }
    }

    // MARK: Claiming

    /// The claim, and the first row that did not fit.
    mutating func claim(_ plan: ClaimPlan, worker: Int64) -> (claim: ModelClaim?, next: ModelJob?) {
        let now = self.now
        let alive = self.tables.workers[worker] != nil
        let hasQuarantined = self.tables.inflight.values.contains { $0.worker == worker && $0.isQuarantined }
        let seen = self.tables.messages.values.filter {
            $0.app == plan.lane.app && $0.lane == plan.lane.number && $0.id >= plan.floor && alive
                && !($0.isQuarantined && hasQuarantined)
        }.sorted { $0.id < $1.id }.prefix(Int(plan.rows))
        var total = 0
        var picked: [ModelJob] = []
        var next: ModelJob?
        // Quarantined jobs are claimed with others of as many lost claims.
        for job in seen where job.quarantine == seen[0].quarantine {
            total += job.tokens.count
            let fits =
                total <= Int(plan.pushes)
                && (!job.isQuarantined || total == job.tokens.count || total <= ModelJob.quarantineSize(job.lostClaims))
            if fits { picked.append(job) } else if next == nil { next = job }
        }
        guard !picked.isEmpty else { return (nil, next) }
        let claim = changeForNow { tables in
            for job in picked { tables.messages[job.id] = nil }
            let claim = ModelClaim(
                id: tables.claimID(),
                worker: worker,
                app: plan.lane.app,
                jobs: picked,
                claimedAt: now,
                isQuarantined: picked.contains(where: \.isQuarantined)
            )
            tables.inflight[claim.id] = claim
            return claim
        }
        return (claim, next)
    }

    /// The lanes that have rows, from the floor of the lane if it has one.
    func look(_ range: LookRange) -> (lanes: [Lane], end: Lane?) {
        let ids = Dictionary(
            tables.messages.values.map { (Lane(app: $0.app, number: $0.lane), $0.id) },
            uniquingKeysWith: max
        )
        let asked = (range.known + range.others).filter { lane, floor in ids[lane].map { $0 >= floor } ?? false }
        let known = Set(range.known.map(\.lane))
        let last = range.endsAtKnown ? range.known.last?.lane : nil
        let ahead = known.union(ids.keys).filter { lane in
            range.start.map { $0 < lane } ?? true && last.map { lane <= $0 } ?? true
        }.sorted()
        let walked = ahead.prefix(range.maxSteps ?? .max)
        let isOver = last == nil && walked.count < range.maxSteps ?? .max
        let lanes = Set(asked.map(\.lane)).union(walked.filter { !known.contains($0) })
        return (lanes.sorted(), isOver ? nil : walked.last)
    }

    /// For each of these lanes with rows below its floor, the lowest of them.
    func lookBelow(_ floors: [(lane: Lane, id: Int64)]) -> [(lane: Lane, lowest: Int64)] {
        floors.compactMap { lane, floor in
            let below = tables.messages.values.filter {
                $0.app == lane.app && $0.lane == lane.number && $0.id < floor
            }
            return below.map(\.id).min().map { (lane, $0) }
        }
    }
}

extension ModelJob {
    fileprivate func id(in ids: [String: Int64]) -> Int64 {
        guard let origin, let first = tokens.min() else { return id }
        return ids["\(origin) \(first)"] ?? id
    }
}

extension [Int64: ModelJob] {
    fileprivate func renamed(_ ids: [String: Int64]) -> Self {
        var renamed: Self = [:]
        for var job in values {
            job.id = job.id(in: ids)
            renamed[job.id] = job
        }
        return renamed
    }
}
