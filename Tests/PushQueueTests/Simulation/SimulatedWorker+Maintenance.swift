import CarillonIO

@testable import CarillonPushQueue

/// What `MaintenanceRunner` does.
extension SimulatedWorker {
    /// The tasks that the model has. None reads legacy feedback lists or creates channels.
    var tasks: [SimulatedTask] {
        let options = state.options
        return [
            SimulatedTask(
                name: .counts,
                wait: { .seconds(1) },
                means: .shared { link, done in self.count(on: link, then: done) }
            ),
            SimulatedTask(
                name: .sweep,
                wait: { self.state.maintenance.sweepWait },
                means: .own(ifDue: { _, then in then(.success(self.state.mustSweep)) }) { link, done in
                    self.sweep(on: link, then: done)
                }
            ),
            SimulatedTask(
                name: .orphans,
                wait: { self.state.maintenance.wait() },
                means: .own(ifDue: { link, then in self.findOrphans(on: link, then: then) }) { link, done in
                    self.takeOver(from: nil, on: link) { answer in done(answer.loss) }
                }
            ),
            SimulatedTask(
                name: .strays,
                wait: { self.state.maintenance.wait() },
                means: .own(ifDue: { link, then in self.findStrays(on: link, then: then) }) { link, done in
                    self.releaseAgedStrays(on: link, then: done)
                }
            ),
            SimulatedTask(
                name: .maintain,
                // Less often than a real worker, because it is seldom due, but sooner after a failure, because runs are short.
                wait: { min(self.state.maintenance.wait(for: .maintain) * 3, options.lease) },
                means: .fleet(every: options.lease.nanoseconds / 1000) { link, done in
                    self.maintain(on: link, steps: 3, then: done)
                }
            ),
            SimulatedTask(
                name: .feedback,
                wait: { self.state.maintenance.feedbackWait() },
                means: .fleet(every: options.feedbackInterval.nanoseconds / 1000) { link, done in
                    self.reap(ReapPass(), on: link, then: done)
                }
            ),
        ]
    }

    func keep(_ task: SimulatedTask) {
        guard let wait = task.wait() else { return }
        after(wait) {
            if !self.state.sleep.isAwake, task.name != .counts {
                // A sleeper learns from its slow looks what is due. Only this worker knows which tasks have failed.
                guard self.state.maintenance.unfinished.contains(task.name) else { return self.keep(task) }
                self.wake()
            }
            self.withDatabase { link in
                self.state.maintenance.began(task.name)
                self.carryOut(task, on: link) { loss in
                    if let loss { self.failed(loss, on: link) }
                    self.state.maintenance.ended(task.name)
                    self.keep(task)
                }
            }
        }
    }

    private func carryOut(
        _ task: SimulatedTask,
        on shared: SimulatedLink,
        then: @escaping (SimulatedLink.Loss?) -> Void
    ) {
        switch task.means {
        case .shared(let work):
            work(shared) { loss in
                if loss == nil { self.state.maintenance.finished(task.name) }
                then(loss)
            }
        case .own(let isDue, let work):
            isDue(shared) { answer in
                self.goOn(with: task, ifDue: answer, then: then) { own, done in
                    work(own) { loss in
                        if loss == nil { self.state.maintenance.finished(task.name) }
                        done(loss)
                    }
                }
            }
        case .fleet(let interval, let work):
            guard FleetRun.mayBegin(in: state) else {
                state.maintenance.finished(task.name)
                return then(nil)
            }
            let worker = state.lease.id
            shared.ask(self) {
                $0.isDue(task.name, every: interval, for: worker)
            } then: { answer in
                self.goOn(with: task, ifDue: answer, then: then) { own, done in
                    let run = FleetRun(task.name)
                    let simulated = SimulatedRun(task.name, interval, run, self.state.lease.id, own, then: done, work)
                    self.take(simulated)
                }
            }
        }
    }

    /// Does the task, on a connection of its own, if it is due.
    private func goOn(
        with task: SimulatedTask,
        ifDue answer: Result<Bool, SimulatedLink.Loss>,
        then: @escaping (SimulatedLink.Loss?) -> Void,
        _ work: @escaping SimulatedTask.Work
    ) {
        switch answer {
        case .failure(let loss): then(loss)
        case .success(true): withOwnLink(for: task.name.purpose, work) { _ in then(nil) }
        case .success:
            state.maintenance.finished(task.name)
            then(nil)
        }
    }

    // MARK: Tasks that one worker of the fleet does at a time

    private func take(_ run: SimulatedRun) {
        let (task, worker, interval) = (run.task, run.worker, run.interval)
        switch run.run.step {
        case .take: run.own.ask(self, { $0.take(task, every: interval, for: worker) }, then: { self.goOn(run, $0) })
        case .work:
            simulation.watch(task, of: worker)
            run.work(run.own) { loss in
                if let loss { self.goOn(run, .failure(loss)) } else { self.goOn(run, .success(true)) }
            }
        case .end:
            simulation.watch(task, of: worker)
            run.own.ask(self, { $0.end(task, of: worker) }, then: { self.goOn(run, $0.map { true }) })
        case .over: run.then(nil)
        }
    }

    private func goOn(_ run: SimulatedRun, _ answer: Result<Bool, SimulatedLink.Loss>) {
        switch answer {
        case .success(let answer):
            run.run.succeeded(answer, in: &state)
            take(run)
        case .failure(let loss): run.then(loss)
        }
    }

    private func maintain(on link: SimulatedLink, steps: Int, then: @escaping (SimulatedLink.Loss?) -> Void) {
        guard steps > 0 else { return then(nil) }
        link.ask(self) {
            $0.now
        } then: { answer in
            if case .failure(let loss) = answer { return then(loss) }
            self.maintain(on: link, steps: steps - 1, then: then)
        }
    }

    private func reap(_ pass: ReapPass, on link: SimulatedLink, then: @escaping (SimulatedLink.Loss?) -> Void) {
        guard state.phase == .working else { return then(nil) }
        let next = pass.next
        link.ask(self) { database in
            let (batch, deleted) = database.reap(after: next)
            for token in deleted { self.simulation.reaped(token) }
            return batch
        } then: { answer in
            switch answer {
            case .failure(let loss): then(loss)
            case .success(let batch):
                var pass = pass
                guard let wait = pass.returned(batch, after: .milliseconds(1)) else { return then(nil) }
                self.after(wait) { self.reap(pass, on: link, then: then) }
            }
        }
    }
}

/// A run of a task that several steps share.
private final class SimulatedRun {
    let task: MaintenanceTask.Name
    /// In microseconds.
    let interval: Int64
    var run: FleetRun
    let worker: Int64
    let own: SimulatedLink
    let then: (SimulatedLink.Loss?) -> Void
    let work: SimulatedTask.Work

    init(
        _ task: MaintenanceTask.Name,
        _ interval: Int64,
        _ run: FleetRun,
        _ worker: Int64,
        _ own: SimulatedLink,
        then: @escaping (SimulatedLink.Loss?) -> Void,
        _ work: @escaping SimulatedTask.Work
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
