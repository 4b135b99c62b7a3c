import ApplePush
import CarillonIO

@testable import CarillonPushQueue

/// A fleet of workers, a database and a gateway in one thread and no time at all. Everything that happens follows from the
/// seed.
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
    /// How long the oldest message had waited when a sleeper found it that had not been called, in microseconds.
    private(set) var longestWait: Int64 = 0
    /// The message that each token is in, and when the token was registered last.
    private var registrations: [String: (message: Int64, at: Int64)] = [:]
    /// The place of each update in the order.
    private(set) var places: [ModelPush: ModelPlace] = [:]
    /// Messages that a caller has cancelled.
    private(set) var calledOff: Set<Int64> = []
    /// How often the database has crashed.
    private var databaseLife = 0
    /// The times with which each update was sent.
    private(set) var stamps: [ModelPush: Set<Int64>] = [:]
    /// Dead tokens that were deleted.
    private(set) var reaped = 0
    /// Breaches that are seen at once.
    private(set) var breaches: [String] = []
    /// The database forgot what it had answered.
    private(set) var isAnybodysGuess = false

    let lease: Duration
    /// When faults end. All in microseconds.
    private static let horizon = 2_500_000
    /// Faults may put things off for so long, a clock set back for instance.
    private static let limit = 240_000_000

    init(
        seed: UInt64,
        apps: AppDirectory,
        lease: Duration = .seconds(1),
        faults: ((inout SeededGenerator) -> SimulationFaults)? = nil
    ) {
        self.seed = seed
        self.apps = apps
        self.lease = lease
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
        at(time + Int64(random.number(in: 0...Self.horizon)), action)
    }

    /// So many milliseconds from now.
    private func after(_ milliseconds: ClosedRange<Int>, _ action: @escaping () -> Void) {
        at(time + Int64(random.number(in: milliseconds)) * 1000, action)
    }

    /// The tasks of the fleet are not due for a lease.
    func putOffTasks() {
        for task in [MaintenanceTask.Name.maintain, .feedback]
        where database.take(task, every: lease.nanoseconds / 1000, for: 0) {
            database.end(task, of: 0)
        }
    }

    /// Runs until nothing is left to do, and both tasks of the fleet have begun. False: the time limit was reached.
    func run() -> Bool {
        defer { end() }
        for _ in 0..<random.number(in: 1...3) { start() }
        for _ in 0..<random.number(in: 5...20) { sometime { self.enqueue() } }
        plan()
        let calm = time + Int64(Self.horizon)
        let end = calm + Int64(Self.limit)
        at(calm) { self.calm() }
        while let next = events.earliest, next <= end {
            database.now += next - time
            time = next
            events.removeFirst()?()
            // A task of the fleet that could not be begun is tried again only after a while.
            if time > calm, database.tables.isDrained, database.tables.fleetTasks.count == 2 { return true }
        }
        return false
    }

    /// Forgets what it would have done next: that refers to the simulation, and would keep it for ever.
    private func end() {
        for worker in workers { worker.die() }
        cutAll()
        events = SimulationQueue()
    }

    // MARK: Those who enqueue

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
            // Its transaction may stay open for a while: others see later ids before.
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

    /// A device registers, for a second time perhaps.
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
                self.calledOff.insert(message)
                _ = self.database.cancel(message)
            }
        }
    }

    private func start() {
        var options = WorkerOptions()
        options.lease = lease
        options.maxInFlight = random.number(in: 6...60)
        options.maxLookSteps = random.number(in: 1...8)
        options.settleAfter = random.milliseconds(in: 20...300)
        options.feedbackInterval = lease
        options.drainTimeout = random.milliseconds(in: 0...1500)
        options.retry = RetryPolicy(base: .milliseconds(250), cap: .seconds(1))
        let worker = SimulatedWorker(self, options)
        workers.append(worker)
        worker.begin()
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

    /// Waits a little for a moment at which something that was answered can be forgotten.
    private func crashDatabase(tries: Int = 50) {
        guard databaseIsUp else { return }
        if !database.mayForget, tries > 0 {
            return after(1...8) { self.crashDatabase(tries: tries - 1) }
        }
        let before = database.tables
        database.crash(using: &random)
        databaseIsUp = false
        databaseLife += 1
        isAnybodysGuess = true
        cutAll()
        // What it has forgotten of claims may be in flight.
        for claim in before.inflight.values where database.tables.inflight[claim.id] != claim {
            excuse([claim])
        }
        after(10...500) {
            self.databaseIsUp = true
            // Faults seldom come alone.
            if self.random.chance(1, outOf: 2) { self.after(100...1200) { self.cutAll() } }
        }
    }

    /// No lease depends on it.
    private func setClock() {
        database.now += Int64(random.number(in: -5_000_000...5_000_000))
    }

    private func loseGateway() {
        gateway.isDown = true
        after(100...1500) { self.gateway.isDown = false }
    }

    /// A person pauses an app for a while.
    private func pause(_ app: Int32) {
        mark(app, isPaused: true)
        resumeLater(app)
    }

    /// A person finds an app paused, and resumes it.
    func resumeLater(_ app: Int32) {
        after(100...2000) { self.mark(app, isPaused: false) }
    }

    private func mark(_ app: Int32, isPaused: Bool) {
        database.mark(app, isPaused: isPaused)
        if database.isNotifying { notify() }
    }

    /// Nothing goes wrong any more, and somebody is there to finish.
    private func calm() {
        gateway.isDown = false
        if workers.allSatisfy({ !$0.isAlive || $0.state.phase != .working }) { start() }
    }

    // MARK: Sleep

    /// PostgreSQL notifies all workers that listen.
    func notify() {
        for worker in workers where worker.isAlive { worker.notified() }
    }

    /// A sleeper has found work that it had not been called for.
    func foundWhileAsleep() {
        for job in database.tables.messages.values {
            guard let committed = committedAt[job.id] else { continue }
            longestWait = max(longestWait, time - committed)
        }
    }

    // MARK: The gateway

    /// An update arrives with that time in its payload.
    func arrived(_ push: ModelPush, stamp: Int64) { stamps[push, default: []].insert(stamp) }

    /// Nothing is sent that another worker may be sending: what is sent is held.
    func watch(_ push: ModelPush, of jobs: ClaimedJobs) {
        guard !isAnybodysGuess, database.tables.inflight[jobs.id] == nil else { return }
        breaches.append("I7: \(push) is sent, though its claim \(jobs.id) is gone")
    }

    // MARK: Maintenance

    /// A task of the fleet is done by the worker that holds it, unless that was declared dead meanwhile.
    func watch(_ task: MaintenanceTask.Name, of worker: Int64) {
        let tables = database.tables
        guard !isAnybodysGuess, tables.workers[worker] != nil, tables.fleetTasks[task]?.heldBy != worker else { return }
        breaches.append("I7: worker \(worker) is at \(task), which \(tables.fleetTasks[task]?.heldBy ?? 0) holds")
    }

    /// A feedback pass has deleted a token: it was registered before Apple called it dead.
    func reaped(_ token: String) {
        reaped += 1
        guard faults.clockJumps == 0, !isAnybodysGuess, let (message, at) = registrations[token] else { return }
        let push = ModelPush(message: message, token: token)
        let died = gateway.records.values.first { $0.push == push }?.refusedAt
        if died.map({ at > $0 }) ?? true {
            breaches.append("I13: \(token) is deleted, which was registered at \(at) and died at \(died ?? 0)")
        }
    }

    // MARK: What the audit has to know

    /// What was in flight when its worker was declared dead may be sent twice.
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
