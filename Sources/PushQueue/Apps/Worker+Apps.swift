import ApplePush
import CarillonIO
import CarillonPostgres

/// Reading the rows of apps and certificates.
extension Worker {
    /// Notices changes of these rows within a second.
    func keepApps() async {
        var wait = Duration.milliseconds(500)
        while await core.sleep(for: wait) {
            wait = .milliseconds(500)
            guard let connection = await database.connection() else { return }
            do throws(PostgresError) {
                let fingerprint = try await database.ask(connection, AppRow.fingerprint, Parameters()) { rows in
                    [
                        try rows.int64(0, "apps"), try rows.int64(0, "app_versions"),
                        try rows.int64(0, "credentials"), try rows.int64(0, "credential_versions"),
                    ]
                }
                let isNews = core.state.limits.apps.fingerprint != fingerprint
                if isNews {
                    let unjudged = try await database.ask(connection, AppRow.unjudged, Parameters()) { rows in
                        try rows.indices.map { try rows.int32($0, "id") }
                    }
                    let runs = try await database.ask(connection, WorkerStatements.pausedRuns) { rows in
                        try rows.indices.map {
                            AppRun(first: try rows.int32($0, "first_app"), last: try rows.int32($0, "last_app"))
                        }
                    }
                    core.event { $0.pausedRuns = runs }
                    let ids = Set(core.state.limits.apps.ids).union(unjudged)
                    try await readApps(Array(ids), on: connection)
                    // Only now: if reading fails, the change has to be noticed again.
                    core.event { $0.limits.apps.fingerprint = fingerprint }
                    core.dispatchBell.ring()
                }
                if core.event({ $0.limits.expiry.isDue(at: .now) }) || isNews {
                    try await lookForExpiry(on: connection)
                }
                core.event { $0.succeeded(in: .apps) }
            } catch {
                database.failed(error, on: connection)
                wait = max(wait, core.event { $0.failed(in: .apps) })
            }
        }
    }

    func readApps(_ ids: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        guard !ids.isEmpty else { return }
        let parameters = core.state.limits.apps.parameters(for: ids)
        let rows = try await database.ask(connection, AppRow.statement, parameters) { rows in
            try rows.indices.map { try AppRow(rows, $0) }
        }
        let unused = core.event { $0.read(rows, of: ids) }
        ledger.count { counters in
            for row in rows { counters.names[row.app.id] = row.app.settings.name }
        }
        notesBell.ring()
        for credential in unused { await outdate(credential) }
    }

    /// A flight that sent with this credential has ended. If the credential was replaced before the pushes reached the
    /// backend, they brought it back into use.
    func flightEnded(using credential: Credential, of app: Int32) async {
        if !core.state.limits.apps.isInUse(credential, by: app) { await outdate(credential) }
    }

    /// Its connections end with the last push in flight on them.
    private func outdate(_ credential: Credential) async {
        suppliedCredentials[credential] = nil
        await backend.outdate(credential: credential)
    }

    /// The credential for deliveries: a signing key uses the provider tokens that the fleet shares.
    func supplied(_ credential: Credential) -> Credential {
        if let supplied = suppliedCredentials[credential] { return supplied }
        let supplied = credential.supplied { [weak self] key, refused in
            guard let self else { throw PushError(.shutDown, "the worker has ended") }
            return try await providerToken(key, refusing: refused)
        }
        suppliedCredentials[credential] = supplied
        return supplied
    }

    /// Warns of certificates that expire soon, and sets the status in their rows.
    private func lookForExpiry(on connection: PostgresConnection) async throws(PostgresError) {
        try await connection.execute(WorkerStatements.ageCredentials)
        let expiring = try await database.ask(connection, WorkerStatements.expiring, Parameters()) { rows in
            try rows.indices.map { row in
                (id: try rows.int32(row, "id"), name: try rows.string(row, "name"), days: try rows.int64(row, "days"))
            }
        }
        for certificate in expiring
        where core.event({ $0.limits.expiry.mustWarn(of: certificate.id, days: certificate.days) }) {
            ledger.log(.credentialExpires(name: certificate.name, days: certificate.days))
        }
    }
}
