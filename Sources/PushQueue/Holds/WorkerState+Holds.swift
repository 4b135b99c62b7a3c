import ApplePush
import CarillonIO
import CarillonSchema

/// Holding apps that cannot send, because of their rows or the outcomes of their pushes.
extension WorkerState {
    /// Rows of apps were read. Returns the credentials that no app uses any more, and the ends of holds.
    mutating func read(_ rows: [AppWithSecret], of ids: [Int32]) -> (unused: Set<Credential>, events: [WorkerEvent]) {
        let changes = apps.read(rows, of: ids)
        for facts in changes.facts { notes.add(.facts(facts)) }
        var events: [WorkerEvent] = []
        for app in changes.rerouted where holds.routeChanged(app) {
            events.append(.holdOutdated(app: apps.name(of: app)))
        }
        for app in changes.removed where holds.isOnProbation(app.id) {
            if holds.isHeld(app.id) { events.append(.holdOutdated(app: app.name)) }
            holds.end(app.id)
        }
        for app in changes.rerouted + changes.removed.map(\.id) { notes.add(.holdOutdated(app: app)) }
        for id in ids { schedule.freed(id) }
        return (changes.unused, events)
    }

    /// Holds the apps of these lanes that have no route.
    mutating func holdUnusable(_ lanes: [Lane], at now: MonotonicInstant) -> [WorkerEvent] {
        lanes.compactMap { lane in
            guard let app = apps[lane.app], !app.row.isPaused, case .failure(let cause) = app.route else { return nil }
            return hold(lane.app, for: cause, at: now)
        }
    }

    /// Notes the hold in `holds`, and in the row of the credential if that is the cause.
    /// - Returns: Nil if it is held already.
    mutating func hold(_ id: Int32, for hold: Hold, at now: MonotonicInstant) -> WorkerEvent? {
        guard let app = apps[id], let wait = holds.hold(id, for: hold, at: now) else { return nil }
        notes.add(.hold(app: id, (hold, wait)))
        if hold.isOfCredential, let certificate = app.row.certificateID {
            let status: CredentialStatus? =
                switch (hold.kind, app.route) {
                case (.credential, .failure): .invalid
                case (.credential, .success): .rejected
                case (.providerToken, _), (.tokenUpdates, _), (.connection, _), (.setting, _), (.database, _): nil
                }
            let stopsMinting = hold.kind == .tokenUpdates
            notes.add(.status(of: certificate, app: id, status, error: hold.message, stopsMinting: stopsMinting))
        }
        return .held(app: app.name, hold, for: wait)
    }

    /// The gateway has answered pushes of the app.
    mutating func endHold(of id: Int32) -> WorkerEvent? {
        guard let app = apps[id], holds.isOnProbation(id) else { return nil }
        holds.end(id)
        schedule.freed(id)
        notes.add(.hold(app: id, nil))
        if let certificate = app.row.certificateID { notes.add(.status(of: certificate, app: id, .ok, error: nil)) }
        return .holdEnded(app: app.name)
    }
}
