import CarillonIO

extension PostgresConnection {
    /// Observes the server at intervals, as long as statements wait.
    func watchSilence() {
        guard let silence, !silence.isObserving, isWaiting else { return }
        self.silence?.isObserving = true
        _ = loop.schedule(at: .now + silence.interval) { [weak self] in self?.assumeIsolated { $0.observe() } }
    }

    private func observe() {
        silence?.isObserving = false
        switch silence?.observed(server, arrivals: arrivals, isWaiting: isWaiting) {
        case .wait, nil: break
        case .probe: probe()
        case .leave: leave()
        }
        watchSilence()
    }

    private func probe() {
        guard let silence, let probe = silence.probe, !silence.isProbing else { return }
        self.silence?.isProbing = true
        let loop = self.loop
        probe.start { [weak self] isAlive in
            loop.submit { self?.assumeIsolated { $0.probed(isAlive) } }
        }
    }

    private func probed(_ isAlive: Bool) {
        silence?.isProbing = false
        if isAlive { silence?.signs += 1 }
    }

    private func leave() {
        guard let silence else { return }
        // Unless another session has noted it.
        if silence.silence >= silence.limit { silence.silentHost.left(server) }
        close(because: .unanswered(by: server, for: silence.silence))
    }
}
