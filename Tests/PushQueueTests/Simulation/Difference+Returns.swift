import ApplePush
import CarillonPostgres
import TestSupport

@testable import CarillonPushQueue

/// Settling, and all other ways in which jobs leave a claim.
extension Difference {
    private mutating func outcome(mayWait: Bool) -> Outcome {
        switch Int.random(in: mayWait ? 0..<9 : 0..<7, using: &random) {
        case 0..<3: .accepted
        case 3: Outcome(.rejected, status: 410, reason: Reason(name: "Unregistered") ?? .none, timestamp: 1)
        case 4: Outcome(.rejected, status: 503, reason: Reason(name: "ServiceUnavailable") ?? .none)
        case 5: Outcome(.safe)
        case 6: Outcome(.unknown)
        default: Outcome(.pending)
        }
    }

    mutating func settle() async throws -> String {
        guard let place = self.held.indices.randomElement(using: &random) else { return "nothing to settle" }
        var held = self.held[place]
        var outcomes = held.settled ?? Outcomes(repeating: Outcome(.pending), count: held.claim.batch.count)
        for push in outcomes.indices where outcomes[push].verdict == .pending {
            outcomes[push] = outcome(mayWait: held.settled == nil)
            if outcomes[push].status != 0, flip(1, outOf: 2) {
                let id = PushID(high: .random(in: 0 ... .max, using: &random), low: UInt64(push))
                outcomes.setUniqueID(id, at: push)
            }
        }
        let settlement = Settlement(
            held.claim,
            outcomes,
            after: held.settled,
            // Whatever the jitter is, retries are due only after the test.
            policy: RetryPolicy(base: .seconds(86400 * 365), cap: .seconds(86400 * 365)),
            maxAttempts: 3,
            now: held.claim.claimedAt,
            keepsUniqueIDs: flip(3, outOf: 4),
            using: &random
        )
        let worker = flip(1, outOf: 8) ? anyWorker() : held.worker
        var step = "nothing"
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let arguments = SettleArguments(
                settlement,
                of: held.claim,
                worker: worker,
                settlementNumber: held.settlementNumber
            )
            let real = try await ask(SettleArguments.statement, arguments.parameters) {
                try SettleEffect($0)
            }
            let model = self.model.settle(
                settlement,
                of: held.claim,
                as: worker,
                settlementNumber: held.settlementNumber
            )
            try await adopt()
            step = same(
                "settle \(held.claim.id) part \(held.settlementNumber) by \(worker) with \(settlement)",
                real,
                model
            )
            if real == .written { held.settled = settlement.pending > 0 ? outcomes : nil }
        }
        self.held[place].settled = held.settled
        self.held[place].settlementNumber = held.settled == nil ? 0 : 1
        return step
    }

    /// Orders the updates of a claim, possibly twice, as a worker does that lost the result.
    mutating func order() async throws -> String {
        let unsettled = held.indices.filter { held[$0].settled == nil && !held[$0].claim.updates.isEmpty }
        guard let place = unsettled.randomElement(using: &random) else { return "nothing to order" }
        let claim = held[place].claim
        let updates = claim.updates
        let worker = flip(1, outOf: 8) ? anyWorker() : held[place].worker
        var step = "nothing"
        for _ in 0..<Int.random(in: 1...2, using: &random) {
            let parameters = FlightStatements.parameters(ordering: updates, of: claim, by: worker)
            let real = try await ask(FlightStatements.orderUpdates, parameters) { rows in
                try PushDecisions(rows)
            }
            let model = self.model.order(updates, of: claim, as: worker)
            // The clocks of the two differ, and a time ahead of the clock makes updates wait.
            try await database.run("UPDATE carillon.update_stamps SET stamp = 0")
            self.model.forgetStamps()
            step = same("order \(claim.id) by \(worker)", Self.ended(real), Self.ended(model))
            _ = same("superseded in \(claim.id)", real?.superseded, model?.superseded)
            guard let real, worker == held[place].worker else { continue }
            held[place].claim = claim
            held[place].claim.keep(updates, real.decisions)
        }
        if held[place].claim.count == 0 { held.remove(at: place) }
        return step
    }

    private static func ended(_ answer: PushDecisions?) -> [Bool]? { answer?.decisions.map { $0 == .superseded } }

    mutating func release() async throws -> String {
        guard let held = self.held.randomElement(using: &random), held.settled == nil else { return "no release" }
        let parameters = ClaimKey.parameters(releasing: [held.claim.key], of: held.worker)
        try await workerSession.execute(ClaimKey.release, parameters)
        model.release([held.claim.key], of: held.worker)
        return "release \(held.claim.id)"
    }

    mutating func releaseStrays() async throws -> String {
        let worker = anyWorker()
        let known = Set(held.map(\.claim.id).filter { $0 % 2 == 0 })
        let parameters = ClaimKey.parameters(straysOf: worker, butFor: known)
        let strays: [ClaimKey] = try await ask(ClaimKey.strays, parameters) { try $0.records() }
        let modelled = model.strays(of: worker, knowing: known)
        _ = same("strays of \(worker)", strays.map(\.id).sorted(), modelled.map(\.id).sorted())
        let orphans = try await ask(LeaseStatements.hasOrphans, Parameters()) { try $0.bool(0, 0) }
        _ = same("orphans", orphans, model.hasOrphans)
        try await workerSession.execute(ClaimKey.release, ClaimKey.parameters(releasing: strays, of: worker))
        model.release(modelled, of: worker)
        return "release what \(worker) has lost, but for \(known.sorted())"
    }

    /// Makes all scheduled jobs due, and moves them to the queue.
    mutating func promote() async throws -> String {
        try await database.run("UPDATE carillon.scheduled SET run_at = now() - interval '1 s'")
        self.model.makeDue()
        let maxRows = flip(1, outOf: 2) ? Int.random(in: 1...4, using: &random) : 1000
        var places = (real: DueFloor.Position.beginning, model: DueFloor.Position.beginning)
        while true {
            let look = LookStatements.parameters(LookRange(), dueAfter: places.real)
            let isDue = try await ask(LookStatements.above, look) { try LookRows($0).isDue }
            _ = same("due after \(places)", isDue, self.model.isDue(after: places.model))
            let parameters = PromotionRows.parameters(maxRows: Int32(maxRows), after: places.real)
            let real = try await ask(PromotionRows.statement, parameters) { try PromotionRows($0) }
            let model = self.model.promote(maxRows: maxRows, after: places.model)
            // The clocks of the two differ, so only ids are compared.
            _ = same("promote after \(places)", real.next.id, model.next.id)
            let step = same("promote after \(places)", Self.texts(real.promotions), Self.texts(model.promotions))
            if real.rows < maxRows { return step }
            places = (real.next, model.next)
        }
    }

    private static func texts(_ promotions: [PromotionRows.Promotion]) -> [String] {
        promotions.map { "\($0.lane.app) \($0.lane.number) \($0.lowest) \($0.rows)" }.sorted()
    }

    mutating func split() async throws -> String {
        let lane = anyLane()
        let message = anyMessage()
        let parameters = FlightStatements.parameters(splitting: message, of: lane, size: 2)
        let real = try await ask(FlightStatements.split, parameters) { try $0.int64(0, 0) }
        let model = self.model.split(message, in: lane, size: 2)
        try await adopt()
        return same("split \(message) of \(lane)", real, Int64(model))
    }

    // MARK: Tables

    /// Gives the jobs of the model the ids that PostgreSQL has given them: if a statement makes several jobs, it may number them in
    /// any order.
    mutating func adopt() async throws {
        let statement = Statement(
            "jobs_of_split_messages",
            """
            SELECT j.id, j.origin || ' ' || (SELECT min(t.token COLLATE "C") FROM unnest(j.tokens) AS t(token)) FROM (
                SELECT m.id, m.origin, m.tokens FROM carillon.messages m
                UNION ALL SELECT s.id, s.origin, s.tokens FROM carillon.scheduled s) AS j
            WHERE j.origin IS NOT NULL
            """
        )
        let jobs = try await database.connection.query(statement, Parameters()) { rows in
            try rows.indices.map { (try rows.string($0, 1), try rows.int64($0, 0)) }
        }
        model.adopt(Dictionary(jobs) { first, _ in first })
    }

    func realTables() async throws -> [String] {
        try await database.connection.query(Self.tables, Parameters()) { rows in
            try rows.indices.map { try rows.string($0, 0) }
        }.sorted()
    }

    private static let progress = ModelProgress.columns.map { ", \($0.sql)" }.joined()
    private static let places = ModelProgress.columns.map { _ in " %s" }.joined()
    private static let fields = ModelJob.fields.map { ", \($0.sql)" }.joined()
    private static let fieldPlaces = ModelJob.fields.map { _ in " %s" }.joined()

    private static let tables = Statement(
        "tables",
        """
        SELECT format('ready, app %s:\(fieldPlaces)', u.app_id\(fields)) FROM carillon.messages u
        UNION ALL
        SELECT format('later, app %s:\(fieldPlaces)', u.app_id\(fields)) FROM carillon.scheduled u
        UNION ALL
        SELECT format('flight %s of %s app %s part %s quarantined %s:%s', f.id, f.worker_id, f.app_id, f.settlements, f.quarantined,
            (SELECT string_agg(format('\(fieldPlaces)'\(fields)), ';' ORDER BY u.id) FROM unnest(f.jobs) AS u))
            FROM carillon.inflight f
        UNION ALL
        SELECT format('unfinished, %s left:\(places)', u.remaining\(progress)) FROM carillon.unfinished u
        UNION ALL
        SELECT format('result:\(places)'\(progress)) FROM carillon.results u
        UNION ALL
        SELECT format('failure %s %s %s %s %s [%s]', f.message_id, f.token, f.status, f.reason, f.attempt, f.apns_unique_id)
            FROM carillon.failures f
        UNION ALL
        SELECT format('update %s of %s', u.message_id, u.token) FROM carillon.updates u
        UNION ALL
        SELECT format('slots %s: %s', d.token, (SELECT string_agg(s.message_id::text, ',' ORDER BY s.message_id)
            FROM unnest(d.slots) AS s)) FROM carillon.device_slots d WHERE d.slots <> '{}'
        UNION ALL
        SELECT format('stamp %s: %s %s, %s', s.token, s.message_id, s.is_final, s.highest) FROM carillon.update_stamps s
        UNION ALL
        SELECT format('cancelled %s', c.message_id) FROM carillon.cancelled c
        UNION ALL
        SELECT format('worker %s', w.id) FROM carillon.workers w
        """
    )

    func modelTables() -> [String] {
        let tables = model.tables
        func fields(_ job: ModelJob) -> String { ModelJob.fields.map { " " + $0.text(job) }.joined() }
        func progress(_ row: ModelProgress) -> String { ModelProgress.columns.map { " " + $0.text(row) }.joined() }
        var lines = tables.messages.values.map { "ready, app \($0.app):\(fields($0))" }
        lines += tables.scheduled.values.map { "later, app \($0.app):\(fields($0))" }
        lines += tables.inflight.values.map { claim in
            let jobs = claim.jobs.sorted { $0.id < $1.id }.map(fields)
            return """
                flight \(claim.id) of \(claim.worker) app \(claim.app) part \(claim.settlementNumber) \
                quarantined \(claim.isQuarantined ? "t" : "f"):\(jobs.joined(separator: ";"))
                """
        }
        lines += tables.unfinished.values.map { "unfinished, \($0.remaining) left:\(progress($0))" }
        lines += tables.results.map { "result:\(progress($0))" }
        lines += tables.failures.map { failure in
            """
            failure \(failure.message) \(failure.token) \(failure.status.map { "\($0)" } ?? "") \(failure.reason) \
            \(failure.attempt) [\(failure.uniqueID.map { "\($0)" } ?? "")]
            """
        }
        lines += tables.updates.flatMap { token, messages in messages.keys.map { "update \($0) of \(token)" } }
        lines += tables.slots.filter { !$0.value.isEmpty }.map { token, slots in
            "slots \(token): \(slots.map(\.message).sorted().map { "\($0)" }.joined(separator: ","))"
        }
        lines += tables.stamps.map {
            "stamp \($0.key): \($0.value.place.message) \($0.value.place.isEnd ? "t" : "f"), \($0.value.highest)"
        }
        lines += tables.cancelled.map { "cancelled \($0)" }
        lines += tables.workers.keys.map { "worker \($0)" }
        return lines.sorted()
    }
}
