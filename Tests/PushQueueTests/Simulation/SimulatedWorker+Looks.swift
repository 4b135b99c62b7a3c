import CarillonIO

@testable import CarillonPushQueue

/// What `Lookout` and `SleepKeeper` do: how the worker looks for work, falls asleep and wakes.
extension SimulatedWorker {
    private func look() {
        isLooking = true
        isRung = false
        withDatabase { link in
            let wasAsleep = !self.state.sleep.isAwake
            self.take(LookRun(in: &self.state, at: self.now), on: link, wasAsleep)
        }
    }

    private func take(_ run: LookRun, on link: SimulatedLink, _ wasAsleep: Bool) {
        let goOn = { (answer: Result<(Duration?, Bool), SimulatedLink.Loss>) -> Void in
            var run = run
            switch answer {
            case .success(let (wait, foundWork)): run.succeeded(wait, foundWork: foundWork, in: &self.state)
            case .failure(let loss):
                self.failed(loss, on: link)
                run.failed(loss.error, in: &self.state, at: self.now)
            }
            if run.mayClaim { self.dispatch() }
            self.take(run, on: link, wasAsleep)
        }
        switch run.step {
        case .refresh: readChanges(on: link) { answer in goOn(answer.map { _ in (nil, false) }) }
        case .look: look(on: link) { answer in goOn(answer.map { wait in (wait, false) }) }
        case .ask: askToSleep(on: link, wasAsleep, then: goOn)
        case .wake: renewLease(on: link, wakes: true) { answer in goOn(answer.map { _ in (nil, false) }) }
        case .clear: clear(on: link, tellingOthers: state.sleep.wokeByItself) { goOn($0.map { _ in (nil, false) }) }
        case .over(let wait): lookAgain(after: wait)
        }
    }

    private func lookAgain(after wait: Duration) {
        isLooking = false
        nextLook += 1
        let number = nextLook
        after(isRung ? .zero : wait) { if number == self.nextLook, !self.isLooking { self.look() } }
    }

    /// Looks, or asks whether the worker may sleep.
    func ring() {
        isRung = true
        if !isLooking { lookAgain(after: .zero) }
    }

    // MARK: Looking

    private func look(on link: SimulatedLink, then: @escaping (Result<Duration, SimulatedLink.Loss>) -> Void) {
        var look = state.lookBegan(at: now)
        let range = look.range
        link.ask(self) { database in
            (database.look(range), look.start.map { database.isDue(after: $0) } ?? false)
        } then: { answer in
            switch answer {
            case .failure(let loss): then(.failure(loss))
            case .success(let (found, isDue)):
                look.end = found.end
                look.cost = .microseconds(self.simulation.random.number(in: 500...4000))
                self.finish(look, found.lanes, isDue: isDue, on: link, then: then)
            }
        }
    }

    /// Reads the apps of the lanes, and moves due jobs to the queue at the same time.
    private func finish(
        _ look: WorkerState.Look,
        _ lanes: [Lane],
        isDue: Bool,
        on link: SimulatedLink,
        then: @escaping (Result<Duration, SimulatedLink.Loss>) -> Void
    ) {
        var look = look
        var understood: Result<Void, SimulatedLink.Loss>?
        var promoted: Result<PromotionRows?, SimulatedLink.Loss>?
        let end = { () -> Void in
            guard let understood, let promoted else { return }
            if case .failure(let loss) = understood, case .failure = promoted {
                // The other one counts for the pace.
                self.failed(loss, on: link, isPaced: true)
            }
            switch promoted {
            case .failure(let loss): return then(.failure(loss))
            case .success(let rows): if let rows { self.state.promoted(rows, in: &look, at: self.now) }
            }
            if case .failure(let loss) = understood { return then(.failure(loss)) }
            // Less often than a real worker: looks that find nothing test nothing.
            then(.success(self.state.lookEnded(look, lanes, at: self.now) * 3))
        }
        let start = look.startOfPromotion(isDue: isDue)
        let unread = state.found(lanes, at: now)
        if !unread.isEmpty { dispatch() }
        read(unread.sorted(), on: link) { answer in
            if case .success = answer { _ = self.state.understood(lanes, at: self.now) }
            understood = answer
            end()
        }
        promote(from: start, on: link) { answer in
            promoted = answer
            end()
        }
    }

    private func promote(
        from start: DueFloor.Position?,
        on link: SimulatedLink,
        then: @escaping (Result<PromotionRows?, SimulatedLink.Loss>) -> Void
    ) {
        guard let start else { return then(.success(nil)) }
        link.ask(self, { self.promote(in: &$0, from: start) }, then: { then($0.map(Optional.some)) })
    }

    func promote(in database: inout ModelDatabase, from start: DueFloor.Position) -> PromotionRows {
        var promotion = database.promote(after: start)
        promotion.cost = simulation.random.milliseconds(in: 0...8)
        return promotion
    }

    /// Looks for rows below the floors of their lanes, and for due jobs below the floor of `scheduled`.
    func sweep(on link: SimulatedLink, then: @escaping (SimulatedLink.Loss?) -> Void) {
        let began = now
        let floors = state.floorsToSweep
        let end = { (loss: SimulatedLink.Loss?) -> Void in
            self.state.maintenance.swept(in: self.now - began)
            then(loss)
        }
        guard state.sweepsScheduled else { return lookBelow(floors, on: link, then: end) }
        promote(from: DueFloor.Position.beginning, on: link) { answer in
            switch answer {
            case .failure(let loss): end(loss)
            case .success(let rows):
                if let rows {
                    self.state.promoted(rows, from: .beginning, at: self.now)
                    if rows.rows > 0 { self.dispatch() }
                }
                self.lookBelow(floors, on: link, then: end)
            }
        }
    }

    private func lookBelow(
        _ floors: [(lane: Lane, id: Int64)],
        on link: SimulatedLink,
        then: @escaping (SimulatedLink.Loss?) -> Void
    ) {
        guard !floors.isEmpty else { return then(nil) }
        link.ask(self) {
            $0.lookBelow(floors)
        } then: { answer in
            switch answer {
            case .failure(let loss): return then(loss)
            case .success(let found):
                guard !found.isEmpty else { return then(nil) }
                self.state.schedule.swept(found, at: self.now)
                self.dispatch()
                then(nil)
            }
        }
    }

    // MARK: Sleep

    /// Calls back with the wait before the next run, and whether there is work.
    private func askToSleep(
        on link: SimulatedLink,
        _ wasAsleep: Bool,
        then: @escaping (Result<(Duration?, Bool), SimulatedLink.Loss>) -> Void
    ) {
        let askedAt = now
        let worker = state.lease.id
        let lease = state.sleep.lease.nanoseconds / 1000
        let holders = state.sleep.holders
        let (known, skipped) = (state.apps.fingerprint, state.unsendable)
        let failedTasks = state.maintenance.unfinished
        let interval = state.options.feedbackInterval.nanoseconds / 1000
        let tasks = [MaintenanceTask.Name.maintain, .feedback].filter { !failedTasks.contains($0) }
        link.ask(self) {
            $0.fallAsleep(
                worker,
                lease: lease,
                waitsFor: holders,
                knowing: known,
                skipping: skipped,
                tasks: tasks,
                interval
            )
        } then: { answer in
            switch answer {
            case .failure(let loss): then(.failure(loss))
            case .success(let answer):
                if wasAsleep, answer.hasWork { self.simulation.foundWhileAsleep() }
                let (wait, dead) = self.state.sleepReturned(answer, askedAt: askedAt, at: self.now)
                self.sawDead(dead)
                if !wasAsleep, !self.state.sleep.isAwake { self.simulation.sleeps += 1 }
                then(.success((wait, answer.hasWork)))
            }
        }
    }

    /// Clears the flag, so that transactions do not notify.
    func clear(
        on link: SimulatedLink,
        tellingOthers: Bool,
        then: @escaping (Result<Void, SimulatedLink.Loss>) -> Void
    ) {
        link.ask(self, { if $0.clearAsleep(), tellingOthers { self.simulation.notify() } }, then: then)
    }

    /// PostgreSQL notifies all connections that listen.
    func notified() {
        for link in links { link.notify(self) { self.called() } }
    }

    /// It was notified, or has lost the connection for notifications.
    func called() {
        if state.sleep.called() { ring() }
    }

    /// Wakes for work that PostgreSQL does not know of.
    func wake() {
        state.sleep.wake(at: now)
        ring()
    }
}
