import ApplePush
import CarillonIO

@testable import CarillonPushQueue

/// A fleet of workers, a database and a gateway, simulated in one thread without waiting. The seed determines everything that
/// happens.
final class Simulation {
    let seed: UInt64
    let faults: SimulationFaults
    var random: SeededGenerator
    /// The monotonic clock, in microseconds.
    private(set) var time: Int64 = 1_000_000_000
    private var events = SimulationQueue()
    var database = ModelDatabase()
    var databaseIsUp = true
    var gateway = ModelGateway()
    private(set) var workers: [SimulatedWorker] = []
    var links: [SimulatedLink] = []
    let apps: AppDirectory
    /// What callers have enqueued, by message.
    private(set) var enqueued: [Int64: ModelJob] = [:]
    /// When they were committed.
    private var committedAt: [Int64: Int64] = [:]
    /// How often workers have slept.
    var sleeps = 0
    /// The longest that a message had waited, in microseconds, when a sleeper found it without a notification.
    private(set) var longestWait: Int64 = 0
    /// The message that each token is in, and when the token was registered last.
    private var registrations: [String: (message: Int64, at: Int64)] = [:]
    /// The place of each update among those of its token.
    private(set) var places: [ModelPush: ModelPlace] = [:]
    /// Messages that a caller has cancelled.
    private(set) var cancelled: Set<Int64> = []
    /// How often the database has crashed.
    private var databaseLife = 0
    /// The times with which each update was sent.
    private(set) var stamps: [ModelPush: Set<Int64>] = [:]
    /// Dead tokens that were deleted.
    private(set) var reaped = 0
    /// Breaches that are found during the run.
    private(set) var breaches: [String] = []
    /// A crash may have undone what the database had confirmed.
    private(set) var mayHaveForgotten = false

    let lease: Duration
    /// How long faults go on. All in microseconds.
    private let horizon: Int64
    /// How much longer a run may take: a fault, such as a clock that is set back, may delay work.
    private static let limit: Int64 = 240_000_000
    /// When faults end.
    private var calmsAt: Int64 = 0

    init(
        seed: UInt64,
        apps: AppDirectory,
        lease: Duration = .seconds(1),
        horizon: Int64 = 2_500_000,
        faults: ((inout SeededGenerator) -> SimulationFaults)? = nil
    ) {
        self.seed = seed
        self.apps = apps
        self.lease = lease
        self.horizon = horizon
        random = SeededGenerator(seed: seed)
        self.faults = faults?(&random) ?? SimulationFaults(using: &random)
        gateway.habits = self.faults.habits
    }

    // MARK: Time

    var now: MonotonicInstant { MonotonicInstant(nanoseconds: time * 1000) }

    /// - Parameter time: In microseconds.
    func at(_ time: Int64, _ action: @escaping () -> Void) {
        events.insert(at: max(time, self.time), action)
    }

    private func sometime(_ action: @escaping () -> Void) {
        at(time + Int64(random.number(in: 0...Int(horizon))), action)
    }

    /// Does something at a random time, that many milliseconds from now.
    private func after(_ milliseconds: ClosedRange<Int>, _ action: @escaping () -> Void) {
        at(time + Int64(random.number(in: milliseconds)) * 1000, action)
    }

    /// Delays the tasks of the fleet by a lease.
    func putOffTasks() {
        for task in [MaintenanceTask.Name.maintain, .feedback]
        where database.take(task, every: lease.nanoseconds / 1000, for: 0) {
            database.end(task, of: 0)
        }
    }

    /// Runs until nothing is left to do.
    func run() {
        defer { end() }
        for _ in 0..<random.number(in: 1...3) { start() }
        begin()
        while nextEvent != nil { step() }
    }

    /// Plans what callers do, and the faults.
    func begin() {
        for _ in 0..<random.number(in: 5...20) { sometime { self.enqueue() } }
        plan()
        calmsAt = time + horizon
        at(calmsAt) { self.calm() }
    }

    /// When something happens next. Nil if nothing is left to do and both tasks of the fleet have begun, or at the time limit.
    var nextEvent: Int64? {
        // A task of the fleet that could not begin is tried again only after a while.
        if time > calmsAt, database.tables.isDrained, database.tables.fleetTasks.count == 2 { return nil }
        return events.earliest.flatMap { $0 <= calmsAt + Self.limit ? $0 : nil }
    }

    func step() {
        guard let next = events.earliest else { return }
        database.now += next - time
        time = next
        events.removeFirst()?()
    }

    /// Drops all pending actions: they refer to the simulation, and would keep it in memory.
    func end() {
        for worker in workers { worker.die() }
        cutAll()
        events = SimulationQueue()
    }

    // MARK: Callers

    private func enqueue() {
        let count = random.number(in: random.chance(1, outOf: 15) ? 20...60 : 1...4)
        let name = random.next() >> 16
        var job = ModelJob(id: 0, tokens: (0..<count).map { String(name * 100 + UInt64($0), radix: 16) })
        job.tokens = job.tokens.map { $0.count % 2 == 0 ? $0 : "0" + $0 }
        job.app = Int32(random.number(in: 1...2))
        job.lane = Int16(random.number(in: 0...2))
        job.mayRepeat = !random.chance(1, outOf: 5)
        if random.chance(1, outOf: 3) {
            // A few activities of each app, with many updates.
            job.isUpdate = true
            job.isEnd = random.chance(1, outOf: 8)
            job.tokens = (1...random.number(in: 1...3)).map { "ac\(job.app)\($0)" }
        }
        if random.chance(1, outOf: 6) {
            job.expiresAt = database.now + Int64(random.number(in: 0...5_000_000))
        }
        guard databaseIsUp else { return }
        let isUnwritable = random.chance(faults.unwritable, outOf: 100)
        if job.isUpdate {
            let call = database.call(with: job)
            let notifies = database.isNotifying
            // Its transaction may stay open for a while, so that later ids are seen first.
            guard random.chance(1, outOf: 3) else { return commit(call, isUnwritable, notifies) }
            let life = databaseLife
            let holder = "\(call.job.id)"
            database.holders.insert(holder)
            return after(1...400) {
                guard self.databaseLife == life else { return }
                self.database.holders.remove(holder)
                self.commit(call, isUnwritable, notifies)
            }
        }
        let notifies = database.isNotifying
        job.id = database.insert(job, isUnwritable: isUnwritable)
        if notifies { notify() }
        enqueued[job.id] = job
        committedAt[job.id] = time
        for token in job.tokens { register(token, of: job.id) }
        if random.chance(1, outOf: 3), let token = job.tokens.first { sometime { self.register(token, of: job.id) } }
    }

    private func commit(_ call: ModelDatabase.Call, _ isUnwritable: Bool, _ notifies: Bool) {
        database.commit(call, isUnwritable: isUnwritable)
        if notifies { notify() }
        committedAt[call.job.id] = time
        enqueued[call.job.id] = call.job
        for (token, update) in call.updates {
            places[ModelPush(message: call.job.id, token: token)] = update.place
        }
    }

    /// A device registers, possibly again.
    private func register(_ token: String, of message: Int64) {
        guard databaseIsUp else { return }
        database.register(token)
        registrations[token] = (message, time)
    }

    // MARK: Faults

    private func plan() {
        for _ in 0..<faults.crashes { sometime { self.crash() } }
        for _ in 0..<faults.stops { sometime { self.stop() } }
        for _ in 0..<faults.losses { sometime { self.loseConnection() } }
        for _ in 0..<faults.databaseCrashes { sometime { self.crashDatabase() } }
        for _ in 0..<faults.clockJumps { sometime { self.setClock() } }
        for _ in 0..<faults.drains { sometime { self.replace() } }
        for _ in 0..<faults.outages { sometime { self.loseGateway() } }
        for _ in 0..<faults.pauses { sometime { self.pause(Int32(self.random.number(in: 1...2))) } }
        for _ in 0..<faults.cancels {
            sometime {
                let messages = self.enqueued.keys.sorted()
                guard self.databaseIsUp, let message = messages.randomElement(using: &self.random) else { return }
                self.cancelled.insert(message)
                _ = self.database.cancel(message)
            }
        }
    }

    /// - Parameters:
    ///   - maxInFlight: Random if nil.
    ///   - ceiling: What the workers of a process share.
    @discardableResult
    func start(maxInFlight: Int? = nil, _ ceiling: FlightCeiling.Member? = nil) -> SimulatedWorker {
        var options = WorkerOptions()
        options.lease = lease
        options.maxInFlight = maxInFlight ?? random.number(in: 6...60)
        options.maxLookSteps = random.number(in: 1...8)
        options.settleAfter = random.milliseconds(in: 20...300)
        options.feedbackInterval = lease
        options.drainTimeout = random.milliseconds(in: 0...1500)
        options.retry = RetryPolicy(base: .milliseconds(250), cap: .seconds(1))
        let worker = SimulatedWorker(self, options, ceiling)
        workers.append(worker)
        worker.begin()
        return worker
    }

    private func anyWorker() -> SimulatedWorker? {
        workers.filter(\.isAlive).randomElement(using: &random)
    }

    private func crash() {
        anyWorker()?.die()
        after(0...2500) { self.start() }
    }

    private func stop() {
        // Up to three leases.
        anyWorker()?.stop(for: random.milliseconds(in: 0...3000))
    }

    private func loseConnection() {
        links.removeAll { !$0.isOpen }
        links.randomElement(using: &random)?.cut()
    }

    private func replace() {
        guard let worker = anyWorker() else { return }
        worker.after(.zero) { worker.drain() }
        start()
    }

    private func cutAll() {
        let links = self.links
        self.links = []
        for link in links { link.cut() }
    }

    /// Waits briefly until the crash can undo something that the database has confirmed.
    private func crashDatabase(tries: Int = 50) {
        guard databaseIsUp else { return }
        if !database.mayForget, tries > 0 {
            return after(1...8) { self.crashDatabase(tries: tries - 1) }
        }
        let before = database.tables
        database.crash(using: &random)
        databaseIsUp = false
        databaseLife += 1
        mayHaveForgotten = true
        cutAll()
        // The pushes of claims that the crash has changed may be in flight.
        for claim in before.inflight.values where database.tables.inflight[claim.id] != claim {
            excuse([claim])
        }
        after(10...500) {
            self.databaseIsUp = true
            if self.random.chance(1, outOf: 2) { self.after(100...1200) { self.cutAll() } }
        }
    }

    /// Sets the clock of the database. No lease depends on it.
    private func setClock() {
        database.now += Int64(random.number(in: -5_000_000...5_000_000))
    }

    private func loseGateway() {
        gateway.isDown = true
        after(100...1500) { self.gateway.isDown = false }
    }

    /// An operator pauses an app for a while.
    private func pause(_ app: Int32) {
        mark(app, isPaused: true)
        resumeLater(app)
    }

    /// An operator resumes a paused app.
    func resumeLater(_ app: Int32) {
        after(100...2000) { self.mark(app, isPaused: false) }
    }

    private func mark(_ app: Int32, isPaused: Bool) {
        database.mark(app, isPaused: isPaused)
        if database.isNotifying { notify() }
    }

    /// Ends all faults, and makes sure that a worker runs.
    private func calm() {
        gateway.isDown = false
        if workers.allSatisfy({ !$0.isAlive || $0.state.phase != .working }) { start() }
    }

    // MARK: Sleep

    /// PostgreSQL notifies all workers that listen.
    func notify() {
        for worker in workers where worker.isAlive { worker.notified() }
    }

    /// A sleeper has found work without a notification.
    func foundWhileAsleep() {
        for job in database.tables.messages.values {
            guard let committed = committedAt[job.id] else { continue }
            longestWait = max(longestWait, time - committed)
        }
    }

    // MARK: The gateway

    /// An update arrives with that time in its payload.
    func arrived(_ push: ModelPush, stamp: Int64) { stamps[push, default: []].insert(stamp) }

    /// A push is sent: its claim must be in `inflight`, otherwise another worker may be sending it.
    func watch(_ push: ModelPush, of jobs: ClaimedJobs) {
        guard !mayHaveForgotten, database.tables.inflight[jobs.id] == nil else { return }
        breaches.append("I7: \(push) is sent, though its claim \(jobs.id) is gone")
    }

    // MARK: Maintenance

    /// A worker does a task of the fleet: it must hold the task, unless it was declared dead meanwhile.
    func watch(_ task: MaintenanceTask.Name, of worker: Int64) {
        let tables = database.tables
        guard !mayHaveForgotten, tables.workers[worker] != nil, tables.fleetTasks[task]?.heldBy != worker
        else { return }
        breaches.append("I7: worker \(worker) is at \(task), which \(tables.fleetTasks[task]?.heldBy ?? 0) holds")
    }

    /// A feedback pass has deleted a token, which must have been registered before Apple called it dead.
    func reaped(_ token: String) {
        reaped += 1
        guard faults.clockJumps == 0, !mayHaveForgotten, let (message, at) = registrations[token] else { return }
        let push = ModelPush(message: message, token: token)
        let died = gateway.records.values.first { $0.push == push }?.refusedAt
        if died.map({ at > $0 }) ?? true {
            breaches.append("I13: \(token) is deleted, which was registered at \(at) and died at \(died ?? 0)")
        }
    }

    // MARK: For the audit

    /// Pushes that were in flight when their worker was declared dead may be sent twice.
    func tookOver(_ claims: [ModelClaim]) {
        excuse(claims)
    }

    private func excuse(_ claims: [ModelClaim]) {
        for claim in claims {
            guard let jobs = ClaimRows(claim, next: nil, lane: Lane(app: claim.app, number: 1)).jobs else { continue }
            for place in 0..<jobs.batch.count {
                gateway.excuse(jobs.push(at: place), id: jobs.batch.id(of: place))
            }
        }
    }
}
