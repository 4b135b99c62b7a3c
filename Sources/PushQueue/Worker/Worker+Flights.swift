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
                counters.waits += jobs.waits
            }
        }
        self.dispatchBell.ring()
        if let jobs = answer.jobs { await self.fly(jobs, claimedAs: worker, answeredAt: answeredAt) }
        if let large { await self.split(large, of: plan.lane) }
    }

    private func fly(_ jobs: ClaimedJobs, claimedAs worker: Int64, answeredAt: MonotonicInstant) async {
        var flight = Flight(jobs, claimedAs: worker, answeredAt: answeredAt)
        let hasTurn = await self.waitForTurn(of: jobs)
        self.state.departed(jobs.app)
        self.dispatchBell.ring()
        switch hasTurn ? self.state.departure(of: jobs, claimedAs: worker, at: .now) : .giveBack {
        case .giveBack: await self.release(jobs, as: worker)
        case .nothingToSend: await self.settle(&flight, Outcomes(repeating: .delivered, count: 0))
        case .send(let route, let mostAttempts):
            flight.mostAttempts = mostAttempts
            await self.send(&flight, by: route)
        }
        self.state.ended(flight)
        self.count { _ in }
        self.dispatchBell.ring()
    }

    private func claim(_ plan: ClaimPlan) async -> ClaimAnswer? {
        let isLarge = plan.depth == .deep
        if isLarge { await self.takeTurn() }
        defer { if isLarge { self.passTurn() } }
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
            self.abandon(plan, wasTooLarge: error.isAboutSize)
            self.failed(error, on: connection)
            return nil
        }
    }

    private func abandon(_ plan: ClaimPlan, wasTooLarge: Bool = false) {
        self.state.claimFailed(plan, wasTooLarge: wasTooLarge, at: .now)
        self.dispatchBell.ring()
    }

    /// Has it sent and settled: what ends soon at once, so that it waits for nobody, and the rest when it has ended.
    private func send(_ flight: inout Flight, by route: App.Route) async {
        let delivered = await self.backend.deliver(
            flight.jobs.batch,
            to: route.gateway,
            with: route.credential,
            terms: DeliveryTerms(patience: self.options.patience, permit: self.permit)
        )
        self.state.limits.capacities.learned(delivered.capacity, of: flight.jobs.app)
        await self.settle(&flight, delivered.outcomes)
        guard let rest = delivered.rest else { return }
        self.count { _ in }
        self.dispatchBell.ring()
        let outcomes = await rest.outcomes()
        await self.settle(&flight, outcomes)
    }

    // MARK: Settling

    /// Writes what has ended. A first part that PostgreSQL refuses is written with the rest.
    private func settle(_ flight: inout Flight, _ outcomes: Outcomes) async {
        if flight.isLost { return }
        let jobs = flight.jobs
        let settlement = self.state.landed(flight, outcomes, at: .now)
        var writing = SettlementWriting(settlement, part: flight.part)
        var pace = RetryPace()
        var metLock = false
        var refusal = ""
        var unrecorded: [WorkerEvent] = []
        while let write = writing.write(of: jobs, outcomes, after: flight.settled, as: flight.worker) {
            do throws(PostgresError) {
                let answer = try await self.write(
                    for: jobs.app,
                    write.statement,
                    write.parameters,
                    isLarge: jobs.count >= Self.manyRows,
                    metLock: metLock
                ) { try SettlementAnswer($0) }
                guard let answer else { return }
                writing.answered(answer)
                if writing.refused.count > unrecorded.count, let job = writing.refused.last {
                    let message = jobs.jobs[Int(job)].message
                    unrecorded.append(
                        .unrecorded(
                            app: self.counters.names[jobs.app] ?? "\(jobs.app)",
                            message: message,
                            error: refusal,
                            isWritten: answer != .unwritten
                        )
                    )
                }
                pace.succeeded()
            } catch {
                metLock = error.metLock
                if error.isTransient {
                    writing.failed(mayBeWritten: error.outcome == .unknown)
                } else {
                    refusal = error.message
                    if settlement.pending > 0 { return }
                    if case .refused(let job) = writing.next {
                        self.cannotEnd(jobs.jobs[Int(job)], of: jobs.app, error)
                    }
                    if writing.refusedByDatabase() { continue }
                }
                await self.pause(&pace)
            }
        }
        let isWritten = writing.next == .over(isWritten: true)
        guard self.state.settled(&flight, settlement, outcomes, isWritten: isWritten, at: .now) else {
            self.tell(.stale(claim: jobs.id))
            return
        }
        for event in unrecorded { self.tell(event) }
        self.count { $0.add(settlement, of: jobs.app) }
        for event in self.state.retried(settlement, of: jobs.app, at: .now) { self.tell(event) }
        for event in self.state.refused(settlement, of: jobs, at: .now) { self.tell(event) }
        if self.state.isSuspect(jobs.app), let connection {
            do throws(PostgresError) {
                try await self.countActivity(on: connection)
            } catch {
                self.failed(error, on: connection)
            }
        }
        if let report = self.state.learned(from: settlement, of: jobs, at: .now) { self.tell(report) }
    }

    /// The claim cannot leave `inflight`, where PostgreSQL refuses that. Whoever gave it up would have its pushes sent again:
    /// so it is tried again for as long as the worker runs, and a person has to know.
    private func cannotEnd(_ job: ClaimedJobs.Job, of app: Int32, _ error: PostgresError) {
        guard self.state.errors.heard("ending a claim", at: .now) != nil else { return }
        self.tell(
            .cannotEnd(app: self.counters.names[app] ?? "\(app)", message: job.message, error: error.description)
        )
    }

    /// Gives back a claim of which nothing was sent. One that PostgreSQL refuses to take back stays in this worker's name,
    /// and holds up nothing: it is found as a stray and tried again, and the others have it when the worker has ended.
    private func release(_ jobs: ClaimedJobs, as worker: Int64) async {
        let parameters: Parameters = .release([jobs.key], of: worker)
        var pace = RetryPace()
        var metLock = false
        var refusals = 0
        while refusals < SettlementWriting.tries {
            do throws(PostgresError) {
                let released = try await self.write(
                    for: jobs.app,
                    WorkerStatements.release,
                    parameters,
                    metLock: metLock
                ) {
                    try $0.int64(0, 0)
                }
                if released != nil { self.state.gaveBack(jobs, at: .now) }
                return
            } catch {
                metLock = error.metLock
                if !error.isTransient { refusals += 1 }
                await self.pause(&pace)
            }
        }
    }
}
