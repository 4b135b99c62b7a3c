import CarillonIO

@testable import CarillonPushQueue

/// What `LeaseKeeper` does.
extension SimulatedWorker {
    // MARK: This worker

    func register(on link: SimulatedLink, then: @escaping (Result<Void, SimulatedLink.Loss>) -> Void) {
        let askedAt = now
        let lease = state.options.lease.nanoseconds / 1000
        link.ask(self) {
            $0.register(lease: lease)
        } then: { answer in
            then(answer.map { self.state.lease.registered(as: $0, askedAt: askedAt) })
        }
    }

    func keepLease() {
        after(state.heartbeatWait(at: now)) {
            guard self.state.sleep.isAwake else { return self.keepLease() }
            self.withLifeline { lifeline in
                self.renewLease(on: lifeline) { answer in
                    switch answer {
                    case .success:
                        self.state.succeeded(in: .heartbeat)
                        self.keepLease()
                    case .failure(let loss):
                        self.failed(loss, on: lifeline)
                        self.after(self.state.failed(in: .heartbeat)) { self.keepLease() }
                    }
                }
            }
        }
    }

    func renewLease(
        on link: SimulatedLink,
        wakes: Bool = false,
        then: @escaping (Result<Void, SimulatedLink.Loss>) -> Void
    ) {
        let askedAt = now
        let worker = state.lease.id
        let lease = state.options.lease.nanoseconds / 1000
        link.ask(self) {
            wakes ? $0.wake(worker, lease: lease) : $0.heartbeat(worker, lease: lease)
        } then: { answer in
            guard case .success(let alive) = answer else { return then(answer.map { _ in }) }
            guard self.state.heartbeatReturned(alive, of: worker, askedAt: askedAt) else {
                self.dispatch()
                return then(.success(()))
            }
            self.register(on: link) { answer in
                self.state.lease.registeringEnded()
                if case .success = answer { self.dispatch() }
                then(answer)
            }
        }
    }

    // MARK: The others

    func keepWatch() {
        let again = { self.after(self.state.lease.watchWait(at: self.now)) { self.keepWatch() } }
        // A sleeper sees the others in its slow looks.
        if state.sleep.isAwake { watchOthers(then: again) } else { again() }
    }

    func watchOthers(then: @escaping () -> Void) {
        guard let lifeline else { return then() }
        let worker = state.lease.id
        lifeline.ask(self) {
            $0.heartbeats(butOf: worker)
        } then: { answer in
            switch answer {
            case .failure(let loss):
                self.failed(loss, on: lifeline)
                self.after(self.state.failed(in: .watch), then)
            case .success(let others):
                self.state.succeeded(in: .watch)
                let dead = self.state.lease.saw(others, at: self.now)
                self.takeOver(fromAll: dead[...], then: then)
            }
        }
    }

    /// Takes over from dead workers that a sleeper has seen, while its looks go on.
    func sawDead(_ dead: [HeartbeatState.Sighting]) {
        guard !dead.isEmpty, seenDead.isEmpty else { return }
        seenDead = dead
        after(.zero) {
            self.takeOver(fromAll: self.seenDead[...]) { self.seenDead = [] }
        }
    }

    private func takeOver(fromAll dead: ArraySlice<HeartbeatState.Sighting>, then: @escaping () -> Void) {
        guard let next = dead.first else { return then() }
        takeOver(from: next) { loss in
            if let loss, !self.state.refusals.mayTryNext(after: loss.error, at: self.now) { return then() }
            self.takeOver(fromAll: dead.dropFirst(), then: then)
        }
    }

    func takeOverOrphans(then: @escaping () -> Void) {
        withDatabase { link in
            self.findOrphans(on: link) { answer in
                switch answer {
                case .success(true): self.takeOver(from: nil) { _ in then() }
                case .success: then()
                case .failure(let loss):
                    self.failed(loss, on: link)
                    then()
                }
            }
        }
    }

    func findOrphans(on link: SimulatedLink, then: @escaping (Result<Bool, SimulatedLink.Loss>) -> Void) {
        link.ask(self, { $0.hasOrphans }, then: then)
    }

    /// Calls back with the reason if it failed.
    private func takeOver(from dead: HeartbeatState.Sighting?, then: @escaping (SimulatedLink.Loss?) -> Void) {
        var isGone = false
        withOwnLink(for: .takeOver) { own, done in
            self.takeOver(from: dead, on: own) { answer in
                isGone = (try? answer.get()) ?? false
                done(answer.loss)
            }
        } then: { loss in
            if let dead, !isGone { self.state.lease.couldNotTakeOver(dead.worker, at: self.now) }
            then(loss)
        }
    }

    /// Calls back with whether the claims of the dead worker were taken over.
    func takeOver(
        from dead: HeartbeatState.Sighting?,
        on link: SimulatedLink,
        then: @escaping (Result<Bool, SimulatedLink.Loss>) -> Void
    ) {
        link.ask(self) { database in
            let taken = database.takeOver(from: dead)
            self.simulation.tookOver(taken.claims)
            return taken
        } then: { answer in
            if case .success(let taken) = answer, taken.workers > 0 || !taken.claims.isEmpty {
                self.state.schedule.forgetFloors()
                self.dispatch()
            }
            then(answer.map { $0.workers > 0 })
        }
    }

    // MARK: Stray claims

    /// Releases all of them, while no claim is under way.
    func releaseStrays(on link: SimulatedLink, then: @escaping (Result<Void, SimulatedLink.Loss>) -> Void) {
        strays(on: link) { answer in
            switch answer {
            case .failure(let loss): then(.failure(loss))
            case .success(let strays):
                guard !strays.isEmpty else { return then(.success(())) }
                let worker = self.state.lease.id
                link.ask(self, { $0.release(strays, of: worker) }, then: then)
            }
        }
    }

    /// Claims of this worker that it does not know.
    private func strays(
        on link: SimulatedLink,
        then: @escaping (Result<[ClaimKey], SimulatedLink.Loss>) -> Void
    ) {
        let known = state.schedule.knownClaims
        let worker = state.lease.id
        link.ask(self, { $0.strays(of: worker, knowing: known) }, then: then)
    }
    /// Calls back with whether some are past the grace period.
    func findStrays(on link: SimulatedLink, then: @escaping (Result<Bool, SimulatedLink.Loss>) -> Void) {
        strays(on: link) { answer in
            if case .success(let strays) = answer { self.state.lease.foundStrays(strays, at: self.now) }
            then(answer.map { _ in !self.state.lease.agedStrays.isEmpty })
        }
    }

    func releaseAgedStrays(on link: SimulatedLink, then: @escaping (SimulatedLink.Loss?) -> Void) {
        release(state.lease.straysToRelease()[...], on: link, then: then)
    }

    /// Releases one after the other.
    private func release(
        _ strays: ArraySlice<ClaimKey>,
        on link: SimulatedLink,
        then: @escaping (SimulatedLink.Loss?) -> Void
    ) {
        guard let next = strays.first else { return then(nil) }
        let worker = state.lease.id
        link.ask(self) {
            $0.release([next], of: worker)
        } then: { answer in
            if case .failure(let loss) = answer {
                guard loss == .refused else { return then(loss) }
                guard self.state.refusals.mayTryNext(after: loss.error, at: self.now) else { return then(nil) }
            }
            self.release(strays.dropFirst(), on: link, then: then)
        }
    }
}
