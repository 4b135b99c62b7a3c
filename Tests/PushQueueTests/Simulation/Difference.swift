import ApplePush
import CarillonIO
import CarillonPostgres
import TestSupport

@testable import CarillonPushQueue

/// A database and its model, which get the same operations.
struct Difference {
    /// A claim that may be settled.
    struct Held {
        var claim: ClaimedJobs
        let worker: Int64
        var settlementNumber: Int16 = 0
        var settled: Outcomes?
    }

    let database: TestDatabase
    /// The session in which the statements of workers run, with their rights.
    let workerSession: PostgresConnection
    var model = ModelDatabase()
    var random: SeededGenerator
    var held: [Held] = []
    /// The ids of all workers, including dead ones.
    var workers: [Int64] = []
    /// Workers die so often that jobs are quarantined.
    private let isDeadly: Bool
    /// Where the two differed.
    private(set) var differences: [String] = []
    private var tokens = 0

    /// All pushes are background pushes to few devices, and workers live long enough to ask about them.
    private let isPacing: Bool

    init(
        _ database: TestDatabase,
        workerSession: PostgresConnection,
        seed: UInt64,
        isPacing: Bool = false
    ) async throws {
        self.database = database
        self.workerSession = workerSession
        random = SeededGenerator(seed: seed)
        self.isPacing = isPacing
        isDeadly = seed % 2 == 0 && !isPacing
        model.now = Int64(try await database.value("(extract(epoch FROM now()) * 1000000)::bigint") ?? "") ?? 0
    }

    /// Does a random operation, and returns what it was.
    mutating func step() async throws -> String {
        if isPacing { return try await pacingStep() }
        return switch Int.random(in: 0..<43, using: &random) {
        case 0..<5: try await insert()
        case 5..<8: try await register()
        case 8..<14: try await claim()
        case 14..<16: try await order()
        case 40..<43: try await pace()
        case 16..<23: isDeadly && flip(5, outOf: 6) ? try await die() : try await settle()
        case 23: try await release()
        case 24: try await releaseStrays()
        case 25..<31: try await die()
        case 31..<34: try await promote()
        case 34: flip(1, outOf: 2) ? try await split() : try await order()
        case 35..<37: try await cancel()
        case 37: flip(1, outOf: 2) ? try await look() : try await lookBelow()
        case 38: try await heartbeat()
        default: try await signOff()
        }
    }

    private mutating func pacingStep() async throws -> String {
        switch Int.random(in: 0..<21, using: &random) {
        case 0..<6: try await insert()
        case 6: try await register()
        case 7..<11: try await claim()
        case 11..<16: try await pace()
        case 16: try await settle()
        case 17: try await cancel()
        case 18: try await release()
        case 19: try await die()
        default: flip(1, outOf: 3) ? try await promote() : try await pace()
        }
    }

    mutating func flip(_ part: Int, outOf whole: Int) -> Bool { Int.random(in: 0..<whole, using: &random) < part }

    /// A recent worker or, rarely, any.
    mutating func anyWorker() -> Int64 {
        let recent = flip(1, outOf: 10) ? workers[...] : workers.suffix(4)
        return recent.randomElement(using: &random) ?? 1
    }

    mutating func anyMessage() -> Int64 {
        let tables = model.tables
        let known =
            tables.messages.values.map(\.message) + tables.unfinished.keys
            + tables.inflight.values.flatMap(\.jobs).map(\.message)
        return (known.sorted() + [1]).randomElement(using: &random) ?? 1
    }

    mutating func anyLane() -> Lane {
        if isDeadly { return Lane(app: 1, number: 1) }
        let app = Int32.random(in: 1...2, using: &random)
        return Lane(app: app, number: Int16.random(in: 0...1, using: &random))
    }

    func ask<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        _ read: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        try await workerSession.query(statement, parameters, read)
    }

    // MARK: Callers

    private mutating func insert() async throws -> String {
        if isDeadly, model.tables.messages.count > 3 { return "enough is waiting" }
        let lane = anyLane()
        var job = ModelJob(id: 0, app: lane.app, lane: lane.number, tokens: [])
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            tokens += 1
            job.tokens.append("aa\(1000 + tokens)")
        }
        job.mayRepeat = !flip(1, outOf: isDeadly ? 40 : 4)
        if !isPacing, flip(1, outOf: 3) {
            job.isUpdate = true
            job.isEnd = flip(1, outOf: 8)
            job.tokens = (1...Int.random(in: 1...3, using: &random)).map { "ac\(lane.app)\($0)" }
        }
        job.isPersonal = flip(1, outOf: 2)
        if isPacing || !job.isUpdate && flip(1, outOf: 2) {
            job.isPaced = true
            job.tokens = (1...Int.random(in: 1...2, using: &random)).map { "ab\(lane.app)\($0)" }
        }
        job.id = model.insert(job)
        let isPersonal = job.isPersonal
        let payloads = "ARRAY(SELECT json_build_object('t', u.token) FROM unnest(t.list) AS u(token))"
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, lane, tokens, payload, payloads, on_unknown,
                push_type)
            SELECT \(job.app), \(job.lane), t.list, \(isPersonal ? "NULL" : "'{}'"), \(isPersonal ? payloads : "NULL"),
                '\(job.mayRepeat ? "retry" : "fail")', '\(job.isUpdate ? "liveactivity" : job.isPaced ? "background" : "alert")'
            FROM (VALUES ('{\(job.tokens.joined(separator: ","))}'::text[])) AS t(list)
            """
        )
        if job.isUpdate {
            let list = job.tokens.joined(separator: ",")
            try await database.run(
                "SELECT carillon.note_update(\(job.app), \(job.id), '{\(list)}', \(job.isEnd), clock_timestamp(), NULL)"
            )
        }
        return "insert \(job)"
    }

    /// How many tokens of jobs with personal payloads have the payload of another token. The model has no payloads.
    func misplacedPayloads() async throws -> Int {
        try await database.number(
            """
            SELECT count(*) FROM (
                SELECT m.tokens, m.payload, m.payloads FROM carillon.messages m
                UNION ALL SELECT s.tokens, s.payload, s.payloads FROM carillon.scheduled s
                UNION ALL SELECT j.tokens, j.payload, j.payloads FROM carillon.inflight i, unnest(i.jobs) AS j
                UNION ALL SELECT k.tokens, k.payload, k.payloads FROM carillon.failed_messages k
            ) AS q, unnest(q.tokens, q.payloads) AS t(token, payload)
            WHERE q.payload IS NULL AND t.payload ->> 't' IS DISTINCT FROM t.token
            """
        )
    }

    private mutating func cancel() async throws -> String {
        let message = anyMessage()
        let real = try await database.value("carillon.cancel(\(message))")
        let model = self.model.cancel(message)
        return same("cancel \(message)", real, "\(model)")
    }

    // MARK: Leases

    private mutating func register() async throws -> String {
        var options = WorkerOptions()
        options.lease = .seconds(600)
        let parameters = LeaseStatements.parameters(registering: options, age: .zero)
        let id = try await ask(LeaseStatements.register, parameters) { try $0.int64(0, 0) }
        workers.append(id)
        return same("register", id, model.register(lease: 600_000_000))
    }

    private mutating func heartbeat() async throws -> String {
        let worker = anyWorker()
        let beats = Parameters(worker)
        let seen = try await ask(LeaseStatements.heartbeats, beats) { rows in
            try rows.indices.map { "\(try rows.int64($0, 0)) \(try rows.int64($0, 1)) \(try rows.int64($0, 2))" }
        }
        let expected = model.heartbeats(butOf: worker).map {
            "\($0.worker) \($0.beat) \($0.lease.nanoseconds / 1000)"
        }
        _ = same("heartbeats but of \(worker)", seen.sorted(), expected.sorted())
        let parameters = LeaseStatements.parameters(
            renewing: worker,
            for: .seconds(600),
            noting: ([], [], 0),
            settlingWithin: nil
        )
        let real = try await ask(LeaseStatements.heartbeat, parameters) { rows in
            try rows.int64IfPresent(0, 0)
        }
        return same("heartbeat of \(worker)", real, model.heartbeat(worker, lease: 600_000_000).map(Int64.init))
    }

    private mutating func signOff() async throws -> String {
        let worker = anyWorker()
        let parameters = Parameters(worker)
        let real = try await ask(LeaseStatements.signOff, parameters) { try $0.bool(0, 0) }
        return same("sign off \(worker)", real, model.signOff(worker))
    }

    /// A worker dies, and another takes over what it held.
    private mutating func die() async throws -> String {
        let holders = isDeadly ? model.tables.inflight.values.map(\.worker).sorted() : []
        let dead = holders.randomElement(using: &random) ?? anyWorker()
        let heir = anyWorker()
        let seen = model.heartbeats(butOf: heir)
        // A worker that knows only an older heartbeat may not take over.
        let lag: Int64 = flip(1, outOf: 6) ? 1 : 0
        let sighting = seen.first { $0.worker == dead }.map {
            HeartbeatState.Sighting(worker: $0.worker, beat: $0.beat - lag, lease: $0.lease)
        }
        let parameters = LeaseStatements.parameters(takingOverFrom: sighting)
        let real = try await ask(LeaseStatements.takeOver, parameters) { rows in
            [try rows.int64(0, 0), try rows.int64(0, 1)]
        }
        let taken = model.takeOver(from: sighting)
        try await adopt()
        return same("\(heir) takes over \(dead)", real, [Int64(taken.workers), Int64(taken.claims.count)])
    }

    // MARK: Claiming

    private mutating func claim() async throws -> String {
        let plan = ClaimPlan(
            lane: anyLane(),
            depth: .shallow,
            floor: flip(1, outOf: 5) ? Int64.random(in: 1...20, using: &random) : .min,
            rows: Int32.random(in: 1...4, using: &random),
            pushes: Int32.random(in: 1...9, using: &random)
        )
        let worker = anyWorker()
        let parameters = ClaimStatement.parameters(plan, worker: worker, maxBytes: 100_000)
        let answer = try await ask(ClaimStatement.statement, parameters) { rows in
            // The app's own topic is unknown here, and does not matter.
            try ClaimRows(rows, plan, app: Self.app(plan.lane.app), installation: (1, 2))
        }
        if let jobs = answer.jobs { model.now = jobs.claimedAt }
        let (claim, next) = model.claim(plan, worker: worker)
        if let jobs = answer.jobs { held.append(Held(claim: jobs, worker: worker)) }
        let expected = ClaimRows(claim, next: next, lane: plan.lane)
        _ = same("claim \(plan) by \(worker)", answer.next, expected.next)
        return same(
            "claim \(plan) by \(worker)",
            [Int64(answer.rows), answer.lowest],
            [Int64(expected.rows), expected.lowest]
        )
    }

    private static func app(_ id: Int32) -> RoutedApp {
        var settings = AppSettings(name: "")
        settings.topic = "org.example"
        return RoutedApp(App(id: id, settings: settings), .failure(Hold(.setting, "")))
    }

    private mutating func floors() -> [(lane: Lane, id: Int64)] {
        var floors: [(lane: Lane, id: Int64)] = []
        for app in [1, 2] as [Int32] where flip(1, outOf: 2) {
            floors.append((Lane(app: app, number: 1), Int64.random(in: 1...60, using: &random)))
        }
        return floors
    }

    private mutating func look() async throws -> String {
        let floors = self.floors()
        var range = LookRange()
        if flip(1, outOf: 2) { range.start = Lane(app: Int32.random(in: 0...2, using: &random), number: 1) }
        if flip(1, outOf: 2) { range.maxSteps = Int.random(in: 1...3, using: &random) }
        let start = range.start
        range.known = floors.filter { lane, _ in start.map { $0 < lane } ?? true }
        range.others = floors.filter { lane, _ in start.map { $0 >= lane } ?? false }
        range.endsAtKnown = !range.known.isEmpty && flip(1, outOf: 2)
        let parameters = LookStatements.parameters(range, dueAfter: nil)
        let answer = try await ask(LookStatements.above, parameters) { try LookRows($0) }
        let expected = model.look(range)
        let ends = [answer.end, expected.end].map { end in end.map { "to \($0.app) \($0.number)" } ?? "to the end" }
        let step = same("look \(range)", Set(answer.lanes).sorted(), expected.lanes)
        return same(step, ends[0], ends[1])
    }

    private mutating func lookBelow() async throws -> String {
        let floors = self.floors()
        let real = try await ask(LookStatements.below, LookStatements.parameters(below: floors)) {
            try LookStatements.rows($0)
        }
        let texts = [real, model.lookBelow(floors)].map { found in
            found.map { "\($0.lane.app) \($0.lane.number) \($0.lowest)" }.sorted()
        }
        return same("look below \(floors)", texts[0], texts[1])
    }

    mutating func same<Value: Equatable>(_ step: String, _ real: Value, _ model: Value) -> String {
        if real != model { differences.append("\(step): real \(real), model \(model)") }
        return step
    }
}
