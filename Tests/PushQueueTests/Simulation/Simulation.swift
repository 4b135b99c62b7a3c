import ApplePush
import IO

@testable import PushQueue

/// A fleet of workers, a database and a gateway in one thread and no time at all. Everything that happens follows from the
/// seed.
final class Simulation {
    let seed: UInt64
    let faults: SimulationFaults
    var random: SeededGenerator
    private(set) var now = MonotonicInstant(nanoseconds: 1_000_000_000_000)
    private var events = EventQueue()
    var database = ModelDatabase()
    var databaseIsUp = true
    var gateway = ModelGateway()
    private(set) var workers: [SimulatedWorker] = []
    var links: [SimulatedLink] = []
    let apps: AppDirectory
    private var paused: Int32?
    /// What callers have enqueued, by message.
    private(set) var enqueued: [Int64: ModelJob] = [:]
    /// Breaches that are seen at once.
    private(set) var breaches: [String] = []
    /// The database's clock was set, so that leases on it prove nothing; or it forgot what it had answered.
    private var isAnybodysGuess = false

    static let lease = Duration.seconds(2)
    /// When faults end.
    private static let horizon = Duration.seconds(5)
    /// Faults may put things off for so long, a clock set back for instance.
    private static let patience = Duration.seconds(240)

    init(seed: UInt64, apps: AppDirectory, faults: ((inout SeededGenerator) -> SimulationFaults)? = nil) {
        self.seed = seed
        self.apps = apps
        self.random = SeededGenerator(seed: seed)
        self.faults = faults?(&self.random) ?? SimulationFaults(using: &self.random)
        self.gateway.habits = self.faults.habits
    }

    // MARK: Time

    func at(_ instant: MonotonicInstant, _ action: @escaping () -> Void) {
        self.events.insert(at: max(instant, self.now), action)
    }

    func chance(_ part: Int, outOf whole: Int) -> Bool {
        part > 0 && Int.random(in: 0..<whole, using: &self.random) < part
    }

    private func sometime(_ action: @escaping () -> Void) {
        let wait = Int64.random(in: 0..<Self.horizon.nanoseconds, using: &self.random)
        self.at(self.now + .nanoseconds(wait), action)
    }

    /// Runs until nothing is left to do. False: there is still something when all patience is at an end.
    func run() -> Bool {
        for _ in 0..<Int.random(in: 1...3, using: &self.random) { self.start() }
        for _ in 0..<Int.random(in: 5...40, using: &self.random) { self.sometime { self.enqueue() } }
        self.plan()
        let calm = self.now + Self.horizon
        let end = calm + Self.patience
        self.at(calm) { self.calm() }
        while let next = self.events.earliest, next <= end {
            let passed = (next - self.now).nanoseconds / 1000
            self.database.now += passed
            self.now = self.now + .microseconds(passed)
            if next > self.now { self.now = next }
            self.events.removeFirst()()
            if self.now > calm, self.database.tables.isDrained { return true }
        }
        return false
    }

    // MARK: Those who enqueue

    private func enqueue() {
        let count =
            self.chance(1, outOf: 15)
            ? Int.random(in: 20...60, using: &self.random)
            : Int.random(in: 1...4, using: &self.random)
        let name = self.random.next() >> 16
        var job = ModelJob(id: 0, tokens: (0..<count).map { String(name * 100 + UInt64($0), radix: 16) })
        job.tokens = job.tokens.map { $0.count % 2 == 0 ? $0 : "0" + $0 }
        job.app = Int32.random(in: 1...2, using: &self.random)
        job.lane = Int16.random(in: 0...2, using: &self.random)
        job.mayRepeat = !self.chance(1, outOf: 5)
        if self.chance(1, outOf: 6) {
            job.expiresAt = self.database.now + Int64.random(in: 0...10_000_000, using: &self.random)
        }
        guard self.databaseIsUp else { return }
        job.id = self.database.insert(job)
        self.enqueued[job.id] = job
    }

    // MARK: Faults

    private func plan() {
        for _ in 0..<self.faults.crashes { self.sometime { self.crash() } }
        for _ in 0..<self.faults.stops { self.sometime { self.stop() } }
        for _ in 0..<self.faults.losses { self.sometime { self.links.randomElement(using: &self.random)?.cut() } }
        for _ in 0..<self.faults.databaseCrashes { self.sometime { self.crashDatabase() } }
        for _ in 0..<self.faults.clockJumps { self.sometime { self.setClock() } }
        for _ in 0..<self.faults.drains { self.sometime { self.replace() } }
        for _ in 0..<self.faults.outages { self.sometime { self.loseGateway() } }
        for _ in 0..<self.faults.pauses { self.sometime { self.pauseApp() } }
        for _ in 0..<self.faults.cancels {
            self.sometime {
                let messages = self.enqueued.keys.sorted()
                guard self.databaseIsUp, let message = messages.randomElement(using: &self.random) else { return }
                _ = self.database.cancel(message)
            }
        }
    }

    private func start() {
        var options = WorkerOptions()
        options.lease = Self.lease
        options.maxInFlight = Int.random(in: 6...60, using: &self.random)
        options.patience = .milliseconds(Int64.random(in: 20...300, using: &self.random))
        options.drainTimeout = .milliseconds(Int64.random(in: 0...3000, using: &self.random))
        options.retry = RetryPolicy(base: .milliseconds(500), cap: .seconds(2))
        let worker = SimulatedWorker(self, options)
        self.workers.append(worker)
        worker.begin()
    }

    private func anyWorker() -> SimulatedWorker? {
        self.workers.filter(\.isAlive).randomElement(using: &self.random)
    }

    private func crash() {
        self.anyWorker()?.die()
        let wait = Duration.milliseconds(Int64.random(in: 0...5000, using: &self.random))
        self.at(self.now + wait) { self.start() }
    }

    private func stop() {
        let most = Self.lease.nanoseconds * 3
        self.anyWorker()?.stop(for: .nanoseconds(Int64.random(in: 0...most, using: &self.random)))
    }

    private func replace() {
        guard let worker = self.anyWorker() else { return }
        worker.after(.zero) { worker.drain() }
        self.start()
    }

    private func cutAll() {
        for link in self.links { link.cut() }
        self.links = []
    }

    private func crashDatabase() {
        guard self.databaseIsUp else { return }
        let before = self.database.tables
        self.database.crash(using: &self.random)
        self.databaseIsUp = false
        self.isAnybodysGuess = true
        self.cutAll()
        // What it has forgotten of claims may be in the air.
        for claim in before.inflight.values where self.database.tables.inflight[claim.id] != claim {
            self.excuse([claim])
        }
        let wait = Duration.milliseconds(Int64.random(in: 10...2000, using: &self.random))
        self.at(self.now + wait) { self.databaseIsUp = true }
    }

    private func setClock() {
        self.isAnybodysGuess = true
        self.database.now += Int64.random(in: -30_000_000...30_000_000, using: &self.random)
    }

    private func loseGateway() {
        self.gateway.isDown = true
        let wait = Duration.milliseconds(Int64.random(in: 100...3000, using: &self.random))
        self.at(self.now + wait) { self.gateway.isDown = false }
    }

    private func pauseApp() {
        self.paused = Int32.random(in: 1...2, using: &self.random)
        self.showApps()
        let wait = Duration.milliseconds(Int64.random(in: 100...4000, using: &self.random))
        self.at(self.now + wait) {
            self.paused = nil
            self.showApps()
        }
    }

    /// The workers see within a second what has changed.
    private func showApps() {
        for worker in self.workers {
            worker.after(.milliseconds(Int64.random(in: 0...1000, using: &self.random))) {
                let rows = [1, 2].map { SimulatedApp.row($0, isPaused: $0 == self.paused) }
                _ = worker.state.read(rows, of: rows.map(\.id))
                worker.dispatch()
            }
        }
    }

    /// Nothing goes wrong any more, and somebody is there to finish.
    private func calm() {
        self.gateway.isDown = false
        if self.workers.allSatisfy({ !$0.isAlive || $0.state.phase != .working }) { self.start() }
    }

    // MARK: The gateway

    /// Nothing is sent that another worker may be sending: what is sent is held.
    func watch(_ push: ModelPush, of jobs: ClaimedJobs) {
        guard !self.isAnybodysGuess, self.database.tables.inflight[jobs.id] == nil else { return }
        self.breaches.append("I7: \(push) is sent, though its claim \(jobs.id) is gone")
    }

    // MARK: What the audit has to know

    /// What was in the air when its worker was declared dead may be sent twice.
    func tookOver(_ claims: [ModelClaim]) {
        self.excuse(claims)
    }

    private func excuse(_ claims: [ModelClaim]) {
        for claim in claims {
            guard let jobs = ClaimAnswer(claim, next: nil, lane: Lane(app: claim.app, number: 1)).jobs else { continue }
            for place in 0..<jobs.batch.count {
                self.gateway.excuse(jobs.push(at: place), id: jobs.batch.id(of: place))
            }
        }
    }
}
