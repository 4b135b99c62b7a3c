import CarillonIO

@testable import CarillonPushQueue

/// The connections, as `WorkerDatabase` opens and replaces them.
extension SimulatedWorker {
    /// Opens a connection, and asks whether it leads to the right database.
    func connect(_ then: @escaping (Result<SimulatedLink, SimulatedLink.Loss>) -> Void) {
        guard simulation.databaseIsUp else { return after(.zero) { then(.failure(.unanswered)) } }
        let link = SimulatedLink()
        simulation.links.append(link)
        links.removeAll { !$0.isOpen }
        links.append(link)
        link.ask(self) {
            $0.now
        } then: { answer in
            if case .failure = answer { link.cut() }
            then(answer.map { _ in link })
        }
    }

    /// Has PostgreSQL notify the worker on this connection, as `SleepKeeper` does. Its loss counts as a notification.
    func listen(on link: SimulatedLink, then: @escaping () -> Void) {
        if link.isOpen { link.whenLost = { self.after(.zero) { self.called() } } }
        link.ask(self) { _ in
            link.isListening = true
        } then: { answer in
            self.state.sleep.connected(canBeNotified: answer.loss == nil)
            then()
        }
    }

    func use(_ link: SimulatedLink) {
        self.link = link
        state.reconnection.connected(at: now)
        let waiting = self.waiting
        self.waiting = []
        for action in waiting { after(.zero) { self.withDatabase(action) } }
    }

    /// Replaces lost connections, first the lifeline.
    private func reconnect() {
        guard !isReconnecting, lifeline == nil || link == nil, state.phase != .over else { return }
        isReconnecting = true
        after(state.reconnection.next()) {
            self.openLifeline { isOpen in
                let again = {
                    self.isReconnecting = false
                    self.reconnect()
                }
                if isOpen { self.openShared(then: again) } else { again() }
            }
        }
    }

    private func openLifeline(then: @escaping (Bool) -> Void) {
        guard lifeline == nil else { return then(true) }
        connect { answer in
            guard case .success(let lifeline) = answer else { return then(false) }
            self.lifeline = lifeline
            let waiting = self.waitingForLifeline
            self.waitingForLifeline = []
            for action in waiting { self.after(.zero) { self.withLifeline(action) } }
            then(true)
        }
    }

    private func openShared(then: @escaping () -> Void) {
        guard link == nil else { return then() }
        connect { answer in
            guard case .success(let link) = answer else { return then() }
            self.releaseStrays(on: link) { answer in
                // Strays that cannot be released now are found again.
                if case .failure(.unanswered) = answer { return then() }
                self.listen(on: link) {
                    self.use(link)
                    self.dispatch()
                    then()
                }
            }
        }
    }

    func withDatabase(_ action: @escaping (SimulatedLink) -> Void) {
        guard isAlive, state.phase != .over else { return }
        if let link { action(link) } else { waiting.append(action) }
    }

    func withLifeline(_ action: @escaping (SimulatedLink) -> Void) {
        guard isAlive, state.phase != .over else { return }
        if let lifeline { action(lifeline) } else { waitingForLifeline.append(action) }
    }

    /// A statement failed.
    /// - Parameter isPaced: The caller notes the error in `refusals`.
    func failed(_ loss: SimulatedLink.Loss, on link: SimulatedLink, isPaced: Bool = false) {
        guard loss == .unanswered else {
            if !isPaced { state.refusals.failed(loss.error, at: now) }
            return
        }
        if lifeline === link { lifeline = nil }
        if self.link === link {
            self.link = nil
            state.reconnection.disconnected(at: now, isOwnFault: false)
        }
        reconnect()
    }

    /// Does nothing while a connection with that purpose is open, or while the worker is disconnected.
    /// - Parameters:
    ///   - work: Calls back with the reason if it failed.
    ///   - then: Gets the same.
    func withOwnLink(
        for purpose: WorkerDatabase.Purpose,
        _ work: @escaping (SimulatedLink, @escaping (SimulatedLink.Loss?) -> Void) -> Void,
        then: @escaping (SimulatedLink.Loss?) -> Void
    ) {
        guard !purposes.contains(purpose), link != nil, state.phase != .over else { return then(nil) }
        purposes.insert(purpose)
        let end = { (loss: SimulatedLink.Loss?) in
            self.purposes.remove(purpose)
            then(loss)
        }
        connect { answer in
            switch answer {
            case .failure(let loss): end(loss)
            case .success(let own):
                work(own) { loss in
                    own.cut()
                    end(loss)
                }
            }
        }
    }

    // MARK: Large statements

    func waitForLarge(_ action: @escaping () -> Void) {
        if large.join(action) { action() }
    }

    func largeEnded() {
        if let next = large.leave() { after(.zero, next) }
    }
}
