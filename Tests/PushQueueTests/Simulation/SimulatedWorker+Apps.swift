import CarillonIO
import CarillonPostgres

@testable import CarillonPushQueue

/// What `AppWatch` and `PushCountWriter` do.
extension SimulatedWorker {
    // MARK: Rows

    /// Notices changes of apps.
    func keepApps(after wait: Duration = .milliseconds(500)) {
        after(wait) {
            // A sleeper learns of changes from its slow looks.
            guard self.state.sleep.isAwake else { return self.keepApps() }
            self.withDatabase { link in
                let done = { (answer: Result<Void, SimulatedLink.Loss>) -> Void in
                    guard case .failure(let loss) = answer else {
                        self.state.succeeded(in: .apps)
                        return self.keepApps()
                    }
                    self.failed(loss, on: link)
                    self.keepApps(after: max(.milliseconds(500), self.state.failed(in: .apps)))
                }
                // It may have fallen asleep while it waited for the connection.
                if self.state.sleep.isAwake { self.readChanges(on: link, then: done) } else { done(.success(())) }
            }
        }
    }

    func readChanges(on link: SimulatedLink, then: @escaping (Result<Void, SimulatedLink.Loss>) -> Void) {
        link.ask(self) {
            $0.fingerprint
        } then: { answer in
            switch answer {
            case .failure(let loss): then(.failure(loss))
            case .success(let fingerprint):
                guard self.state.apps.fingerprint != fingerprint else { return then(.success(())) }
                self.read(self.state.apps.ids.sorted(), on: link) { answer in
                    if case .success = answer {
                        if !self.state.apps.hasUnreadCredentials { self.state.apps.fingerprint = fingerprint }
                        self.dispatch()
                    }
                    then(answer)
                }
            }
        }
    }

    func read(
        _ ids: [Int32],
        on link: SimulatedLink,
        then: @escaping (Result<Void, SimulatedLink.Loss>) -> Void
    ) {
        guard !ids.isEmpty else { return then(.success(())) }
        link.ask(self) {
            $0.apps(ids)
        } then: { answer in
            then(answer.map { rows in _ = self.state.read(rows, of: ids) })
        }
    }

    // MARK: Counts

    /// Writes the counts, and does what follows from them.
    func count(on link: SimulatedLink, then: @escaping (SimulatedLink.Loss?) -> Void) {
        let counts = state.unwrittenCounts.take()
        guard !counts.isEmpty else { return then(nil) }
        link.ask(self) {
            $0.count(counts)
        } then: { answer in
            if case .failure(let loss) = answer {
                self.state.unwrittenCounts.failed(counts, loss.error.effect)
                return then(loss)
            }
            let suspects = counts.filter { $0.value.bad > 0 }.map(\.key).sorted()
            self.openBreakers(of: suspects, on: link) { loss in
                if let loss {
                    self.state.unwrittenCounts.failed([:], loss.error.effect)
                } else {
                    self.state.unwrittenCounts.written()
                }
                then(loss)
            }
        }
    }

    private func openBreakers(
        of suspects: [Int32],
        on link: SimulatedLink,
        then: @escaping (SimulatedLink.Loss?) -> Void
    ) {
        guard !suspects.isEmpty else { return then(nil) }
        link.ask(self) { database in
            let opened = database.openBreakers(of: suspects)
            for app in opened { self.simulation.resumeLater(app) }
            return opened
        } then: { answer in
            switch answer {
            case .failure(let loss): then(loss)
            case .success(let opened):
                self.read(opened, on: link) { answer in then(answer.loss) }
            }
        }
    }
}
