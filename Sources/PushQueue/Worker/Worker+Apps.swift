import IO
import Postgres

/// The apps: their rows, and the troubles they are in.
extension Worker {
    /// Sees within a second what has changed in the rows of apps and certificates.
    func keepApps() async {
        while !Task.isCancelled {
            try? await self.loop.sleep(for: .milliseconds(500))
            guard !Task.isCancelled, let connection = await self.database() else { return }
            do throws(PostgresError) {
                let fingerprint = try await self.ask(connection, AppRow.fingerprint, Parameters()) { rows in
                    [try rows.int64(0, 0), try rows.int64(0, 1), try rows.int64(0, 2), try rows.int64(0, 3)]
                }
                guard self.apps.fingerprint != fingerprint else { continue }
                try await self.readApps(self.apps.ids, on: connection)
                // Only now: had reading failed, the change would have to be seen again.
                self.apps.caughtUp(with: fingerprint)
                self.dispatchBell.ring()
            } catch {
                self.failed(error, on: connection)
            }
        }
    }

    func readApps(_ ids: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        guard !ids.isEmpty else { return }
        let rows = try await self.ask(connection, AppRow.statement, self.apps.parameters(for: ids)) { rows in
            try rows.indices.map { try AppRow(rows, $0) }
        }
        // Who has another way to the gateway now deserves another try.
        for app in self.apps.read(rows, of: ids) { self.endHold(of: app) }
        self.count { counters in
            for row in rows { counters.names[row.id] = row.name }
        }
    }

    /// Says so when there are messages for an app that has no way to a gateway.
    func reportUnusable(_ lanes: [Lane]) async {
        for lane in lanes {
            guard case .known(let app) = self.apps[lane.app], !app.isPaused, case .failure(let trouble) = app.route
            else {
                continue
            }
            await self.report(trouble, of: lane.app)
        }
    }

    /// The app cannot send for now: it is held, and its credential's row says why.
    func report(_ trouble: Trouble, of id: Int32) async {
        guard case .known(let app) = self.apps[id],
            let wait = self.holds.hold(id, for: trouble, at: .now, using: &self.random)
        else { return }
        self.count { $0.troubles[id] = trouble }
        self.emit(.trouble(app: id, name: app.name, trouble, heldFor: wait))
        let status: String? =
            switch (trouble.kind, app.route) {
            case (.credential, .failure): "invalid"
            case (.credential, .success): "rejected"
            default: nil
            }
        await self.judge(app.certificate, status: status, error: trouble.message)
    }

    /// The app can send again, if it could not before.
    func reportOver(of id: Int32) async {
        guard case .known(let app) = self.apps[id], self.endHold(of: app) else { return }
        await self.judge(app.certificate, status: "ok", error: nil)
    }

    @discardableResult
    private func endHold(of app: App) -> Bool {
        guard self.holds.end(app.id) else { return false }
        self.count { $0.troubles[app.id] = nil }
        self.emit(.troubleOver(app: app.id, name: app.name))
        return true
    }

    private func judge(_ certificate: Int32?, status: String?, error: String?) async {
        guard let certificate, let connection = self.connection else { return }
        var parameters = Parameters()
        parameters.append(certificate)
        parameters.append(status)
        parameters.append(error)
        do throws(PostgresError) {
            try await connection.execute(WorkerStatements.judgeCredential, parameters)
        } catch {
            self.failed(error, on: connection)
        }
    }
}
