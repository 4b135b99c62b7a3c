import IO

/// The apps: their rows, and the troubles they are in.
extension WorkerState {
    /// Rows of apps were read again.
    mutating func read(_ rows: [AppRow], of ids: [Int32]) {
        // Who has another way to the gateway now deserves another try, which shows whether the trouble is over.
        for app in limits.apps.read(rows, of: ids) { limits.holds.release(app.id) }
        for id in ids { board.freed(id) }
    }

    /// Says so when there are messages for an app that has no way to a gateway.
    mutating func reportUnusable(_ lanes: [Lane], at now: MonotonicInstant) -> [Report] {
        lanes.compactMap { lane in
            guard case .known(let app) = limits.apps[lane.app], !app.isPaused,
                case .failure(let trouble) = app.route
            else { return nil }
            return report(trouble, of: lane.app, at: now)
        }
    }

    /// The app cannot send for now: it is held, and `holds` says why; its credential's row, too, where that is to blame.
    mutating func report(_ trouble: Trouble, of id: Int32, at now: MonotonicInstant) -> Report? {
        guard case .known(let app) = limits.apps[id],
            let wait = limits.holds.hold(id, for: trouble, at: now, using: &random)
        else { return nil }
        let status: String? =
            switch (trouble.kind, app.route) {
            case (.credential, .failure): "invalid"
            case (.credential, .success): "rejected"
            default: nil
            }
        return Report(
            event: .trouble(app: id, name: app.name, trouble, heldFor: wait),
            judgement: trouble.isOfCredential
                ? app.certificate.map {
                    Report.Judgement(
                        certificate: $0,
                        status: status,
                        error: trouble.message,
                        restsTokens: trouble.kind == .tokenUpdates
                    )
                } : nil
        )
    }

    /// The app can send again, if it could not before.
    mutating func reportOver(of id: Int32) -> Report? {
        guard case .known(let app) = limits.apps[id], let event = endHold(of: app) else { return nil }
        return Report(
            event: event,
            judgement: app.certificate.map { Report.Judgement(certificate: $0, status: "ok", error: nil) }
        )
    }

    private mutating func endHold(of app: App) -> WorkerEvent? {
        guard limits.holds.end(app.id) else { return nil }
        board.freed(app.id)
        return .troubleOver(app: app.id, name: app.name)
    }
}
