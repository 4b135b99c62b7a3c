import CarillonIO

@testable import CarillonPushQueue

/// How the worker looks for work, falls asleep and wakes.
extension SimulatedWorker {
    /// Looks, or asks whether it may sleep.
    func step() {
        isLooking = true
        isRung = false
        withDatabase { link in
            let wasAsleep = !self.state.sleep.isAwake
            switch self.state.nextStep(at: self.now) {
            case .look: self.look(on: link)
            case .ask: self.askToSleep(on: link, wasAsleep: wasAsleep)
            }
        }
    }

    private func stepEnded(_ wait: Duration, on link: SimulatedLink) {
        dispatch()
        guard state.sleep.isAwake, state.sleep.mustAnnounce else { return rest(for: wait) }
        announce(on: link) { isDone in
            self.dispatch()
            self.rest(for: isDone ? wait : self.state.failed(in: .look))
        }
    }

    private func rest(for wait: Duration) {
        isLooking = false
        nextLook += 1
        let number = nextLook
        after(isRung ? .zero : wait) { if number == self.nextLook, !self.isLooking { self.step() } }
    }

    private func ring() {
        isRung = true
        if !isLooking { rest(for: .zero) }
    }

    // MARK: Looking

    private func look(on link: SimulatedLink) {
        var look = state.lookBegan(at: now)
        let floors = state.schedule.floors
        let failed = { (loss: SimulatedLink.Loss) in
            self.failed(loss, on: link)
            self.stepEnded(self.state.failed(in: .look), on: link)
        }
        link.ask(self) { database in
            (database.look(floors), look.start.map { database.isDue(after: $0) } ?? false)
        } then: { answer in
            switch answer {
            case .failure(let loss): failed(loss)
            case .success(let (lanes, isDue)):
                _ = self.state.apps.found(lanes)
                _ = self.state.understood(lanes, at: self.now)
                self.promoteDue(from: look.startOfPromotion(isDue: isDue), on: link) { answer in
                    switch answer {
                    case .failure(let loss): failed(loss)
                    case .success(let promotion):
                        if let promotion { self.state.promoted(promotion, in: &look, at: self.now) }
                        // More rarely than it would: looks that find nothing tell nothing.
                        self.stepEnded(self.state.lookEnded(look, lanes, at: self.now) * 3, on: link)
                    }
                }
            }
        }
    }

    private func promoteDue(
        from start: DueFloor.Position?,
        on link: SimulatedLink,
        then: @escaping (Result<PromotionRows?, SimulatedLink.Loss>) -> Void
    ) {
        guard let start else { return then(.success(nil)) }
        link.ask(self, { self.promote(in: &$0, from: start) }, then: { then($0.map(Optional.some)) })
    }

    // MARK: Sleep

    private func askToSleep(on link: SimulatedLink, wasAsleep: Bool) {
        let askedAt = now
        let worker = state.lease.id
        let lease = state.sleep.lease.nanoseconds / 1000
        let holders = state.sleep.holders
        let skipped = state.unsendable
        let failedTasks = state.maintenance.begun
        let interval = state.options.feedbackInterval.nanoseconds / 1000
        let tasks = [MaintenanceTask.Name.maintain, .feedback].filter { !failedTasks.contains($0) }
        link.ask(self) {
            $0.fallAsleep(worker, lease: lease, waitsFor: holders, skipping: skipped, tasks: tasks, interval)
        } then: { answer in
            switch answer {
            case .failure(let loss):
                self.state.sleepFailed(at: self.now)
                self.failed(loss, on: link)
                self.stepEnded(PollingPace.longest, on: link)
            case .success(let answer):
                if wasAsleep, answer.hasWork { self.simulation.foundWhileAsleep() }
                let (wait, dead) = self.state.sleepAnswered(answer, askedAt: askedAt, at: self.now)
                if !wasAsleep, !self.state.sleep.isAwake { self.simulation.sleeps += 1 }
                self.takeOver(from: dead[...]) { self.stepEnded(wait, on: link) }
            }
        }
    }

    /// Tells the fleet that the worker is awake.
    private func announce(on link: SimulatedLink, then: @escaping (Bool) -> Void) {
        renewLease(on: link) { isDone in
            guard isDone else {
                self.failed(link.isOpen ? .refused : .unanswered, on: link)
                return then(false)
            }
            let tellsOthers = self.state.sleep.wokeByItself
            link.ask(self) { database in
                guard database.isNotifying else { return }
                database.asleepUntil = 0
                if tellsOthers { self.simulation.notify() }
            } then: { answer in
                switch answer {
                case .failure(let loss):
                    self.failed(loss, on: link)
                    then(false)
                case .success:
                    self.state.sleep.announced()
                    then(true)
                }
            }
        }
    }

    /// PostgreSQL notifies the worker.
    func notified() {
        guard let link else { return }
        let delay = Int64(simulation.random.number(in: 100...2000))
        simulation.at(simulation.time + delay) {
            guard link.isOpen else { return }
            self.perform { if self.state.sleep.called() { self.ring() } }
        }
    }

    /// There is something to do that PostgreSQL does not know of.
    func wake() {
        guard !state.sleep.isAwake else { return }
        state.sleep.wake(at: now)
        ring()
    }
}
