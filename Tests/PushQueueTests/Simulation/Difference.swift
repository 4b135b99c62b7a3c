import ApplePush
import IO
import Postgres
import TestSupport

@testable import PushQueue

/// A database and its model, which are told the same.
struct Difference {
    /// A claim that somebody may settle.
    struct Held {
        let claim: ClaimedJobs
        let worker: Int64
        var part: Int16 = 0
        var settled: Outcomes?
    }

    let database: TestDatabase
    var model = ModelDatabase()
    var random: SeededGenerator
    var held: [Held] = []
    /// Of workers that are or were.
    var workers: [Int64] = []
    /// Workers die so often that jobs come under suspicion.
    private let isDeadly: Bool
    /// Answers that were not the same.
    private(set) var differences: [String] = []
    private var tokens = 0

    init(_ database: TestDatabase, seed: UInt64) async throws {
        self.database = database
        self.random = SeededGenerator(seed: seed)
        self.isDeadly = seed % 2 == 0
        self.model.now = Int64(try await database.value("(extract(epoch FROM now()) * 1000000)::bigint") ?? "") ?? 0
    }

    /// Does something, and says what.
    mutating func step() async throws -> String {
        switch Int.random(in: 0..<40, using: &self.random) {
        case 0..<5: try await self.insert()
        case 5..<8: try await self.register()
        case 8..<16: try await self.claim()
        case 16..<23: self.isDeadly && self.flip(5, outOf: 6) ? try await self.die() : try await self.settle()
        case 23: try await self.release()
        case 24: try await self.releaseLost()
        case 25..<31: try await self.die()
        case 31..<34: try await self.promote()
        case 34: try await self.split()
        case 35..<37: try await self.cancel()
        case 37: self.flip(1, outOf: 2) ? try await self.look() : try await self.lookBelow()
        case 38: try await self.heartbeat()
        default: try await self.signOff()
        }
    }

    mutating func flip(_ part: Int, outOf whole: Int) -> Bool { Int.random(in: 0..<whole, using: &self.random) < part }

    /// One that may be alive or, rarely, any that ever was.
    mutating func anyWorker() -> Int64 {
        let recent = self.flip(1, outOf: 10) ? self.workers[...] : self.workers.suffix(4)
        return recent.randomElement(using: &self.random) ?? 1
    }

    mutating func anyMessage() -> Int64 {
        let tables = self.model.tables
        let known =
            tables.messages.values.map(\.message) + tables.unfinished.keys
            + tables.inflight.values.flatMap(\.jobs).map(\.message)
        return (known.sorted() + [1]).randomElement(using: &self.random) ?? 1
    }

    mutating func anyLane() -> Lane {
        if self.isDeadly { return Lane(app: 1, number: 1) }
        let app = Int32.random(in: 1...2, using: &self.random)
        return Lane(app: app, number: Int16.random(in: 0...1, using: &self.random))
    }

    func ask<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ read: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await self.database.connection.query(statement, parameters, read)
    }

    // MARK: Callers

    private mutating func insert() async throws -> String {
        if self.isDeadly, self.model.tables.messages.count > 3 { return "enough is waiting" }
        let lane = self.anyLane()
        var job = ModelJob(id: 0, app: lane.app, lane: lane.number, tokens: [])
        for _ in 0..<Int.random(in: 1...4, using: &self.random) {
            self.tokens += 1
            job.tokens.append("aa\(1000 + self.tokens)")
        }
        job.mayRepeat = !self.flip(1, outOf: self.isDeadly ? 40 : 4)
        job.id = self.model.insert(job)
        try await self.database.run(
            """
            INSERT INTO carillon.messages (app_id, lane, tokens, payload, on_unknown)
            VALUES (\(job.app), \(job.lane), '{\(job.tokens.joined(separator: ","))}', '{}',
                '\(job.mayRepeat ? "retry" : "fail")')
            """
        )
        return "insert \(job)"
    }

    private mutating func cancel() async throws -> String {
        let message = self.anyMessage()
        let real = try await self.database.value("carillon.cancel(\(message))")
        let model = self.model.cancel(message)
        return self.same("cancel \(message)", real, "\(model)")
    }

    // MARK: Leases

    private mutating func register() async throws -> String {
        var options = WorkerOptions()
        options.lease = .seconds(3600)
        let parameters: Parameters = .register(options, age: .zero)
        let id = try await self.ask(WorkerStatements.register, parameters) { try $0.int64(0, 0) }
        self.workers.append(id)
        return self.same("register", id, self.model.register(lease: 3_600_000_000))
    }

    private mutating func heartbeat() async throws -> String {
        let worker = self.anyWorker()
        let beats: Parameters = .heartbeats(butOf: worker)
        let seen = try await self.ask(WorkerStatements.heartbeats, beats) { rows in
            try rows.indices.map { "\(try rows.int64($0, 0)) \(try rows.int64($0, 1)) \(try rows.int64($0, 2))" }
        }
        let expected = self.model.heartbeats(butOf: worker).map {
            "\($0.worker) \($0.beat) \($0.lease.nanoseconds / 1000)"
        }
        _ = self.same("heartbeats but of \(worker)", seen.sorted(), expected.sorted())
        let parameters: Parameters = .heartbeat(of: worker, lease: .seconds(3600))
        let real = try await self.ask(WorkerStatements.heartbeat, parameters) { rows in
            rows.isEmpty ? nil : try rows.int64(0, 0)
        }
        return self.same(
            "heartbeat of \(worker)",
            real,
            self.model.heartbeat(worker, lease: 3_600_000_000).map(Int64.init)
        )
    }

    private mutating func signOff() async throws -> String {
        let worker = self.anyWorker()
        let parameters: Parameters = .signOff(of: worker)
        let real = try await self.ask(WorkerStatements.signOff, parameters) { try $0.bool(0, 0) }
        return self.same("sign off \(worker)", real, self.model.signOff(worker))
    }

    /// A worker dies, and another takes over what it held.
    private mutating func die() async throws -> String {
        let holders = self.isDeadly ? self.model.tables.inflight.values.map(\.worker).sorted() : []
        let dead = holders.randomElement(using: &self.random) ?? self.anyWorker()
        let heir = self.anyWorker()
        let seen = self.model.heartbeats(butOf: heir)
        // Somebody who knows an older heartbeat may not take over.
        let lag: Int64 = self.flip(1, outOf: 6) ? 1 : 0
        let sighting = seen.first { $0.worker == dead }.map {
            HeartbeatWatch.Sighting(worker: $0.worker, beat: $0.beat - lag, lease: $0.lease)
        }
        let real = try await self.ask(WorkerStatements.takeOver, .takeOver(from: sighting)) { rows in
            [try rows.int64(0, 0), try rows.int64(0, 1)]
        }
        let taken = self.model.takeOver(from: sighting)
        try await self.adopt()
        return self.same("\(heir) takes over \(dead)", real, [Int64(taken.workers), Int64(taken.claims.count)])
    }

    // MARK: Claiming

    private mutating func claim() async throws -> String {
        let plan = ClaimPlan(
            lane: self.anyLane(),
            depth: .shallow,
            floor: self.flip(1, outOf: 5) ? Int64.random(in: 1...20, using: &self.random) : .min,
            rows: Int32.random(in: 1...4, using: &self.random),
            pushes: Int32.random(in: 1...9, using: &self.random)
        )
        let worker = self.anyWorker()
        let parameters = ClaimAnswer.parameters(plan, worker: worker, mostBytes: 100_000)
        let answer = try await self.ask(ClaimAnswer.statement, parameters) { rows in
            // The app's own topic is not known here, which is no matter.
            try ClaimAnswer(rows, plan, app: Self.app(plan.lane.app), installation: (1, 2))
        }
        if let jobs = answer.jobs { self.model.now = jobs.claimedAt }
        let (claim, next) = self.model.claim(plan, worker: worker)
        if let jobs = answer.jobs { self.held.append(Held(claim: jobs, worker: worker)) }
        let expected = ClaimAnswer(claim, next: next, lane: plan.lane)
        _ = self.same("claim \(plan) by \(worker)", answer.next, expected.next)
        return self.same(
            "claim \(plan) by \(worker)",
            [Int64(answer.rows), answer.first],
            [Int64(expected.rows), expected.first]
        )
    }

    private static func app(_ id: Int32) -> App {
        App(
            id: id,
            name: "",
            topic: Array("org.example".utf8),
            isPaused: false,
            mostRate: nil,
            mostAttempts: 3,
            certificate: nil,
            route: .failure(Trouble(.setting, ""))
        )
    }

    private mutating func floors() -> [(lane: Lane, id: Int64)] {
        var floors: [(lane: Lane, id: Int64)] = []
        for app in [1, 2] as [Int32] where self.flip(1, outOf: 2) {
            floors.append((Lane(app: app, number: 1), Int64.random(in: 1...60, using: &self.random)))
        }
        return floors
    }

    private mutating func look() async throws -> String {
        let floors = self.floors()
        let real = try await self.ask(WorkerStatements.look, .look(above: floors)) { rows in
            // The last row says how long it took.
            try rows.indices.filter { !rows.isNull($0, 0) }.map {
                Lane(app: try rows.int32($0, 0), number: try rows.int16($0, 1))
            }
        }
        return self.same("look \(floors)", real.sorted(), self.model.look(floors))
    }

    private mutating func lookBelow() async throws -> String {
        let floors = self.floors()
        let real = try await self.ask(WorkerStatements.lookBelow, .lookBelow(floors)) { rows in
            try rows.indices.map { "\(try rows.int32($0, 0)) \(try rows.int16($0, 1)) \(try rows.int64($0, 2))" }
        }
        let model = self.model.lookBelow(floors).map { "\($0.lane.app) \($0.lane.number) \($0.lowest)" }
        return self.same("look below \(floors)", real.sorted(), model.sorted())
    }

    mutating func same<Value: Equatable>(_ step: String, _ real: Value, _ model: Value) -> String {
        if real != model { self.differences.append("\(step): real \(real), model \(model)") }
        return step
    }
}
