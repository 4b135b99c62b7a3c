import ApplePush
import IO
import Postgres

/// The way of one claim: asked for, answered, sent, settled.
extension Worker {
    func fly(_ plan: ClaimPlan) async {
        let worker = self.id
        // Between planning a claim and making it, the connection may have gone.
        guard let connection = self.connection else { return self.abandon(plan) }
        guard let answer = await self.claim(plan, on: connection) else { return }
        let answeredAt = MonotonicInstant.now
        let pushes = answer.jobs?.batch.count ?? 0
        self.take(answer, to: plan, pushes: pushes)
        if let next = answer.next, self.mustBeCut(next) { await self.split(next.id, of: plan.lane) }
        guard let jobs = answer.jobs else { return }
        if let settlement = await self.send(jobs, answeredAt: answeredAt) {
            await self.settle(jobs, settlement, as: worker)
        } else {
            await self.release(jobs, as: worker)
        }
        self.flights.remove(jobs.id)
        self.admission.release(pushes, of: plan.lane.app)
        self.count { _ in }
        self.dispatchBell.ring()
    }

    private func claim(_ plan: ClaimPlan, on connection: PostgresConnection) async -> ClaimAnswer? {
        let app: App? = if case .known(let app) = self.apps[plan.lane.app] { app } else { nil }
        let installation = self.installation
        do throws(PostgresError) {
            let parameters = ClaimAnswer.parameters(plan, worker: self.id, mostBytes: self.options.mostBytes)
            let answer = try await self.ask(connection, ClaimAnswer.statement, parameters) { rows in
                try ClaimAnswer(rows, plan, app: app, installation: installation)
            }
            self.asked -= 1
            return answer
        } catch {
            self.abandon(plan)
            self.failed(error, on: connection)
            return nil
        }
    }

    /// The claim was not made: what was set aside for it is free again.
    private func abandon(_ plan: ClaimPlan) {
        self.asked -= 1
        self.board.abandoned(plan, at: .now)
        self.admission.release(Int(plan.pushes), of: plan.lane.app)
        self.rates.spend(-Int(plan.pushes), of: plan.lane.app)
        self.dispatchBell.ring()
    }

    private func take(_ answer: ClaimAnswer, to plan: ClaimPlan, pushes: Int) {
        self.board.claimed(
            plan,
            rows: answer.rows,
            pushes: pushes,
            first: answer.first,
            // What never fits is cut first; until then there is no use in coming back.
            next: answer.next.flatMap { self.mustBeCut($0) ? nil : $0.pushes },
            at: .now
        )
        self.admission.release(Int(plan.pushes) - pushes, of: plan.lane.app)
        self.rates.spend(pushes - Int(plan.pushes), of: plan.lane.app)
        if let jobs = answer.jobs {
            self.flights.insert(jobs.id)
            self.count { counters in
                counters.claims += 1
                counters.jobs += jobs.count
            }
        }
        self.dispatchBell.ring()
    }

    /// Whether a row has to be cut: a large one would wait, and all behind it, until so much is free at once.
    private func mustBeCut(_ row: ClaimAnswer.NextRow) -> Bool {
        row.pushes > min(self.admission.most, 1000)
    }

    /// Nil: it was not sent, and must not be any more.
    private func send(_ jobs: ClaimedJobs, answeredAt: MonotonicInstant) async -> Settlement? {
        var outcomes = Outcomes(repeating: .delivered, count: 0)
        var mostAttempts = Int16.max
        if !jobs.batch.isEmpty {
            guard self.phase == .working, self.lease.holds(at: .now), case .known(let app) = self.apps[jobs.app],
                case .success(let route) = app.route
            else { return nil }
            mostAttempts = app.mostAttempts
            outcomes = await self.backend.deliver(jobs.batch, to: route.gateway, with: route.credential)
        }
        // The database's time: what it said when it answered, and what has passed since.
        let now = jobs.claimedAt + (MonotonicInstant.now - answeredAt).nanoseconds / 1000
        return Settlement(
            jobs,
            outcomes,
            policy: self.options.retry,
            mostAttempts: mostAttempts,
            now: now,
            using: &self.random
        )
    }

    // MARK: Settling

    private func settle(_ jobs: ClaimedJobs, _ settlement: Settlement, as worker: Int64) async {
        let parameters = settlement.parameters(of: jobs, worker: worker)
        var mayBeWritten = false
        while let connection = await self.database() {
            do throws(PostgresError) {
                let answer = try await self.ask(connection, Settlement.statement, parameters) {
                    try SettlementAnswer($0)
                }
                let isWritten = answer == .written || (answer == .before && mayBeWritten)
                await self.settled(jobs, settlement, isWritten: isWritten)
                return
            } catch {
                mayBeWritten = mayBeWritten || error.outcome == .unknown
                self.failed(error, on: connection)
                await self.pause()
            }
        }
    }

    private func settled(_ jobs: ClaimedJobs, _ settlement: Settlement, isWritten: Bool) async {
        guard isWritten else {
            self.count { $0.stale += 1 }
            self.emit(.stale(claim: jobs.id))
            return
        }
        self.count { $0.add(settlement, of: jobs.app) }
        self.activity[jobs.app, default: Settlement.Tally()] += settlement.tally
        self.returned(settlement, of: jobs)
        if let trouble = settlement.trouble {
            if self.phase == .working { await self.report(trouble, of: jobs.app) }
        } else if !jobs.batch.isEmpty {
            await self.reportOver(of: jobs.app)
        }
    }

    /// What went back is below the floor, perhaps.
    private func returned(_ settlement: Settlement, of jobs: ClaimedJobs) {
        guard let lowest = settlement.lowestReturned(of: jobs) else { return }
        self.board.returned(to: Lane(app: jobs.app, number: jobs.lane), lowest: lowest, at: .now)
    }

    /// Gives back a claim of which nothing was sent.
    private func release(_ jobs: ClaimedJobs, as worker: Int64) async {
        var parameters = Parameters()
        parameters.append(worker)
        parameters.append(PostgresArray([jobs.id]))
        while let connection = await self.database() {
            do throws(PostgresError) {
                try await connection.execute(WorkerStatements.release, parameters)
                let lowest = jobs.jobs.lazy.map(\.id).min() ?? .max
                self.board.returned(to: Lane(app: jobs.app, number: jobs.lane), lowest: lowest, at: .now)
                return
            } catch {
                self.failed(error, on: connection)
                await self.pause()
            }
        }
    }

    private func split(_ message: Int64, of lane: Lane) async {
        guard let connection = self.connection else { return }
        var parameters = Parameters()
        parameters.append(lane.app)
        parameters.append(lane.number)
        parameters.append(message)
        parameters.append(Int32(self.options.claimSize))
        do throws(PostgresError) {
            let parts = try await self.ask(connection, WorkerStatements.split, parameters) { try $0.int64(0, 0) }
            self.board.found([lane], at: .now)
            self.dispatchBell.ring()
            if parts > 0 { self.emit(.split(app: lane.app, message: message, parts: Int(parts))) }
        } catch {
            self.failed(error, on: connection)
        }
    }
}
