import ApplePush
import IO
import Postgres

/// The way of one claim: asked for, answered, sent, settled.
extension Worker {
    func fly(_ plan: ClaimPlan) async {
        let worker = self.state.id
        guard let answer = await self.claim(plan) else { return }
        let answeredAt = MonotonicInstant.now
        let large = self.state.claimAnswered(answer, to: plan, at: answeredAt)
        if let jobs = answer.jobs {
            self.count { counters in
                counters.claims += 1
                counters.jobs += jobs.count
            }
        }
        self.dispatchBell.ring()
        if let large { await self.split(large, of: plan.lane) }
        guard let jobs = answer.jobs else { return }
        if let settlement = await self.send(jobs, claimedAs: worker, answeredAt: answeredAt) {
            await self.settle(jobs, settlement, as: worker)
        } else {
            await self.release(jobs, as: worker)
        }
        self.state.ended(jobs)
        self.count { _ in }
        self.dispatchBell.ring()
    }

    private func claim(_ plan: ClaimPlan) async -> ClaimAnswer? {
        // Between planning a claim and making it, the connection may have gone.
        guard let connection else {
            self.abandon(plan)
            return nil
        }
        let app: App? = if case .known(let app) = self.state.limits.apps[plan.lane.app] { app } else { nil }
        let installation = self.state.installation
        let parameters = ClaimAnswer.parameters(plan, worker: self.state.id, mostBytes: self.options.mostBytes)
        do throws(PostgresError) {
            return try await self.ask(connection, ClaimAnswer.statement, parameters) { rows in
                try ClaimAnswer(rows, plan, app: app, installation: installation)
            }
        } catch {
            self.abandon(plan)
            self.failed(error, on: connection)
            return nil
        }
    }

    private func abandon(_ plan: ClaimPlan) {
        self.state.claimFailed(plan, at: .now)
        self.dispatchBell.ring()
    }

    /// Nil: it was not sent, and must not be any more.
    private func send(_ jobs: ClaimedJobs, claimedAs worker: Int64, answeredAt: MonotonicInstant) async -> Settlement? {
        var outcomes = Outcomes(repeating: .delivered, count: 0)
        var most = Int16.max
        switch self.state.departure(of: jobs, claimedAs: worker, at: .now) {
        case .giveBack: return nil
        case .nothingToSend: break
        case .send(let route, let mostAttempts):
            most = mostAttempts
            let terms = DeliveryTerms(permit: self.permit)
            let delivered = await self.backend.deliver(
                jobs.batch,
                to: route.gateway,
                with: route.credential,
                terms: terms
            )
            outcomes = delivered.outcomes
        }
        return self.state.landed(jobs, outcomes, mostAttempts: most, answeredAt: answeredAt, at: .now)
    }

    // MARK: Settling

    private func settle(_ jobs: ClaimedJobs, _ settlement: Settlement, as worker: Int64) async {
        let parameters = settlement.parameters(of: jobs, worker: worker)
        var write = SettlementWrite(worker: worker)
        while let connection = await self.database() {
            do throws(PostgresError) {
                let answer = try await self.ask(connection, Settlement.statement, parameters) {
                    try SettlementAnswer($0)
                }
                guard self.state.settled(jobs, settlement, write, answer, at: .now) else {
                    self.tell(.stale(claim: jobs.id))
                    return
                }
                self.count { $0.add(settlement, of: jobs.app) }
                if let report = self.state.learned(from: settlement, of: jobs, at: .now) { await self.tell(report) }
                return
            } catch {
                if error.outcome == .unknown { write.answerWasLost() }
                self.failed(error, on: connection)
                await self.pause()
            }
        }
    }

    /// Gives back a claim of which nothing was sent.
    private func release(_ jobs: ClaimedJobs, as worker: Int64) async {
        var parameters = Parameters()
        parameters.append(worker)
        parameters.append(PostgresArray([jobs.id]))
        while let connection = await self.database() {
            do throws(PostgresError) {
                try await connection.execute(WorkerStatements.release, parameters)
                self.state.gaveBack(jobs, at: .now)
                return
            } catch {
                self.failed(error, on: connection)
                await self.pause()
            }
        }
    }

    private func split(_ message: Int64, of lane: Lane) async {
        guard let connection else { return }
        var parameters = Parameters()
        parameters.append(lane.app)
        parameters.append(lane.number)
        parameters.append(message)
        parameters.append(Int32(self.options.claimSize))
        do throws(PostgresError) {
            let parts = try await self.ask(connection, WorkerStatements.split, parameters) { try $0.int64(0, 0) }
            self.state.split(in: lane, at: .now)
            self.dispatchBell.ring()
            if parts > 0 { self.tell(.split(app: lane.app, message: message, parts: Int(parts))) }
        } catch {
            self.failed(error, on: connection)
        }
    }
}
