import ApplePush
import IO
import Postgres

/// Reading what the rows of apps and certificates say.
extension Worker {
    /// Sees within a second what has changed in those rows.
    func keepApps() async {
        var wait = Duration.milliseconds(500)
        while await sleep(for: wait) {
            wait = .milliseconds(500)
            guard let connection = await database() else { return }
            do throws(PostgresError) {
                let fingerprint = try await ask(connection, AppRow.fingerprint, Parameters()) { rows in
                    [try rows.int64(0, 0), try rows.int64(0, 1), try rows.int64(0, 2), try rows.int64(0, 3)]
                }
                let isNews = state.limits.apps.fingerprint != fingerprint
                if isNews {
                    let unjudged = try await ask(connection, AppRow.unjudged, Parameters()) { rows in
                        try rows.indices.map { try rows.int32($0, 0) }
                    }
                    state.pausedRuns = try await ask(connection, WorkerStatements.pausedRuns, Parameters()) {
                        rows in
                        try rows.indices.map { AppRun(first: try rows.int32($0, 0), last: try rows.int32($0, 1)) }
                    }
                    let ids = Set(state.limits.apps.ids).union(unjudged)
                    try await readApps(Array(ids), on: connection)
                    // Only now: had reading failed, the change would have to be seen again.
                    state.limits.apps.caughtUp(with: fingerprint)
                    dispatchBell.ring()
                }
                if state.limits.expiry.isDue(at: .now) || isNews { try await lookForExpiry(on: connection) }
                state.succeeded(in: .apps)
            } catch {
                failed(error, on: connection)
                wait = max(wait, state.failed(in: .apps))
            }
        }
    }

    func readApps(_ ids: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        guard !ids.isEmpty else { return }
        let parameters = state.limits.apps.parameters(for: ids)
        let rows = try await ask(connection, AppRow.statement, parameters) { rows in
            try rows.indices.map { try AppRow(rows, $0) }
        }
        state.read(rows, of: ids)
        count { counters in
            for row in rows { counters.names[row.id] = row.name }
        }
        let news = state.limits.apps.takeNews()
        for finding in news.findings { note(finding) }
        // Their connections end with the last push that is in flight on them.
        for credential in news.unused { await backend.outdate(credential: credential) }
    }

    /// Warns of certificates that end soon, and has their rows say so.
    private func lookForExpiry(on connection: PostgresConnection) async throws(PostgresError) {
        try await connection.execute(WorkerStatements.ageCredentials)
        let expiring = try await ask(connection, WorkerStatements.expiring, Parameters()) { rows in
            try rows.indices.map { row in
                (id: try rows.int32(row, 0), name: try rows.string(row, 1), days: try rows.int64(row, 2))
            }
        }
        for certificate in expiring
        where state.limits.expiry.mustWarn(of: certificate.id, days: certificate.days) {
            tell(.credentialExpires(name: certificate.name, days: certificate.days))
        }
    }
}
