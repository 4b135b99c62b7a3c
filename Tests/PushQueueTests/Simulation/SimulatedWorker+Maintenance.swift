import CarillonIO

@testable import CarillonPushQueue

/// What a worker does again and again beside sending.
extension SimulatedWorker {
    func keepOrder() {
        after(state.maintenanceWait()) {
            guard self.state.sleep.isAwake else { return self.keepOrder() }
            self.takeOverOrphans { self.releaseAgedStrays { self.keepOrder() } }
        }
    }

    func keepCounts() {
        after(.seconds(1)) {
            self.withDatabase { link in self.count(on: link) { self.keepCounts() } }
        }
    }

    func takeOverOrphans(then: @escaping () -> Void) {
        withDatabase { link in
            link.ask(self) {
                $0.hasOrphans
            } then: { answer in
                switch answer {
                case .success(true): self.takeOver(from: nil, then: then)
                case .success: then()
                case .failure(let loss):
                    self.failed(loss, on: link)
                    then()
                }
            }
        }
    }

    private func releaseAgedStrays(then: @escaping () -> Void) {
        withDatabase { link in
            let flights = self.state.schedule.heldClaims
            let worker = self.state.lease.id
            link.ask(self) {
                $0.strays(of: worker, knowing: flights)
            } then: { answer in
                guard case .success(let strays) = answer else {
                    if case .failure(let loss) = answer { self.failed(loss, on: link) }
                    return then()
                }
                self.state.lease.foundStrays(strays, at: self.now)
                let aged = self.state.lease.agedStrays
                guard !aged.isEmpty else { return then() }
                link.ask(self) {
                    $0.release(aged, of: worker)
                } then: { answer in
                    if case .failure(let loss) = answer { self.failed(loss, on: link) }
                    then()
                }
            }
        }
    }

    // MARK: What one worker of the fleet does at a time

    func keepMaintaining() {
        // Less often than it would: most looks find nothing due.
        after(state.maintenanceWait(for: .maintain) * 3) {
            self.run(.maintain, every: self.state.options.lease.nanoseconds / 1000, then: { self.keepMaintaining() }) {
                link,
                then in
                self.maintain(on: link, steps: 3, then: then)
            }
        }
    }

    func keepFeedback() {
        guard let wait = state.feedbackWait() else { return }
        after(wait) {
            let interval = self.state.options.feedbackInterval.nanoseconds / 1000
            self.run(.feedback, every: interval, then: { self.keepFeedback() }) { link, then in
                self.reap(ReapPass(), on: link, then: then)
            }
        }
    }

    private func run(
        _ task: MaintenanceTask.Name,
        every interval: Int64?,
        then: @escaping () -> Void,
        work: @escaping (SimulatedLink, @escaping (Bool) -> Void) -> Void
    ) {
        guard FleetRun.mayBegin(in: state) else { return then() }
        if !state.sleep.isAwake {
            guard state.maintenance.begun.contains(task) else { return then() }
            wake()
        }
        state.maintenance.started(task)
        let done = {
            self.state.maintenance.stopped(task)
            then()
        }
        withDatabase { link in
            let worker = self.state.lease.id
            link.ask(self) {
                $0.isDue(task, every: interval, for: worker)
            } then: { answer in
                switch answer {
                case .success(true):
                    guard self.link != nil, self.simulation.databaseIsUp else { return done() }
                    let run = FleetRun(task, in: &self.state)
                    let own = self.newLink()
                    self.take(SimulatedRun(task, interval, run, self.state.lease.id, own, then: done, work: work))
                case .success: done()
                case .failure(let loss):
                    self.failed(loss, on: link)
                    done()
                }
            }
        }
    }

    private func take(_ run: SimulatedRun) {
        let (task, worker, interval) = (run.task, run.worker, run.interval)
        switch run.run.step {
        case .take: run.own.ask(self, { $0.take(task, every: interval, for: worker) }, then: { self.goOn(run, $0) })
        case .work:
            simulation.watch(task, of: worker)
            run.work(run.own) { isDone in self.goOn(run, isDone ? .success(true) : .failure(.refused)) }
        case .end:
            simulation.watch(task, of: worker)
            run.own.ask(self, { $0.end(task, of: worker) }, then: { self.goOn(run, $0.map { true }) })
        case .over:
            run.own.cut()
            run.then()
        }
    }

    private func goOn(_ run: SimulatedRun, _ answer: Result<Bool, SimulatedLink.Loss>) {
        switch answer {
        case .success(let answer):
            run.run.succeeded(answer, in: &state)
            take(run)
        case .failure(let loss):
            failed(loss, on: run.own)
            run.own.cut()
            run.then()
        }
    }

    private func maintain(on link: SimulatedLink, steps: Int, then: @escaping (Bool) -> Void) {
        guard steps > 0 else { return then(true) }
        link.ask(
            self,
            { $0.now },
            then: { answer in
                guard case .success = answer else { return then(false) }
                self.maintain(on: link, steps: steps - 1, then: then)
            }
        )
    }

    private func reap(_ pass: ReapPass, on link: SimulatedLink, then: @escaping (Bool) -> Void) {
        guard state.phase == .working else { return then(true) }
        let next = pass.next
        link.ask(self) { database in
            let (batch, deleted) = database.reap(after: next)
            for token in deleted { self.simulation.reaped(token) }
            return batch
        } then: { answer in
            guard case .success(let batch) = answer else { return then(false) }
            var pass = pass
            guard let rest = pass.answered(batch, after: .milliseconds(1)) else { return then(true) }
            self.after(rest) { self.reap(pass, on: link, then: then) }
        }
    }

    func promote(in database: inout ModelDatabase, from start: DueFloor.Position) -> PromotionRows {
        var promotion = database.promote(after: start)
        promotion.cost = simulation.random.milliseconds(in: 0...8)
        return promotion
    }

    func sweep() {
        after(state.maintenance.sweepWait) {
            let floors = self.state.floorsToSweep
            let promotes = self.state.sweepsScheduled
            guard !floors.isEmpty || promotes, self.state.sleep.isAwake, let link = self.link else {
                return self.sweep()
            }
            link.ask(self) { database in
                (promotes ? self.promote(in: &database, from: .beginning) : nil, database.lookBelow(floors))
            } then: { answer in
                switch answer {
                case .failure(let loss): self.failed(loss, on: link)
                case .success(let (promotion, found)):
                    if let promotion { self.state.promoted(promotion, from: .beginning, at: self.now) }
                    self.state.schedule.returned(found, at: self.now)
                    self.dispatch()
                }
                self.sweep()
            }
        }
    }
}

/// A run of a task that several steps share.
private final class SimulatedRun {
    let task: MaintenanceTask.Name
    /// In microseconds.
    let interval: Int64?
    var run: FleetRun
    let worker: Int64
    let own: SimulatedLink
    let then: () -> Void
    let work: (SimulatedLink, @escaping (Bool) -> Void) -> Void

    init(
        _ task: MaintenanceTask.Name,
        _ interval: Int64?,
        _ run: FleetRun,
        _ worker: Int64,
        _ own: SimulatedLink,
        then: @escaping () -> Void,
        work: @escaping (SimulatedLink, @escaping (Bool) -> Void) -> Void
    ) {
        self.task = task
        self.interval = interval
        self.run = run
        self.worker = worker
        self.own = own
        self.then = then
        self.work = work
    }
}
