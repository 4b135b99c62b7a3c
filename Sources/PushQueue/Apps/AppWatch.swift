import ApplePush
import CarillonIO
import CarillonPostgres

/// Reads the rows of apps and of their credentials, and writes what the worker has learned about them.
final class AppWatch {
    private let context: WorkerContext
    private let database: WorkerDatabase
    /// The credentials for deliveries: a signing key uses the provider tokens that the fleet shares.
    private var suppliedCredentials: [Credential: Credential] = [:]
    private var expiry = ExpiryState()

    init(_ context: WorkerContext, _ database: WorkerDatabase) {
        self.context = context
        self.database = database
    }

    // MARK: Rows

    /// Notices changes of these rows within a second.
    func keepApps() async {
        var wait = Duration.milliseconds(500)
        while await context.sleep(for: wait) {
            wait = .milliseconds(500)
            guard context.state.sleep.isAwake || expiry.isPending(at: .now) else { continue }
            guard let connection = await database.connection() else { return }
            do throws(PostgresError) {
                // A sleeper learns of changes from its slow looks.
                if context.state.sleep.isAwake { try await readChanges(on: connection) }
                if expiry.isDue(at: .now) { try await lookForExpiry(on: connection) }
                context.event { $0.succeeded(in: .apps) }
            } catch {
                database.failed(error, on: connection)
                wait = max(wait, context.event { $0.failed(in: .apps) })
            }
        }
    }

    func readChanges(on connection: PostgresConnection) async throws(PostgresError) {
        let fingerprint = try await database.ask(connection, AppWithSecret.fingerprint) { rows in
            try rows.int64s(0, 0).compactMap(\.self)
        }
        guard context.state.apps.fingerprint != fingerprint else { return }
        let unjudged: [Int32] = try await database.ask(connection, AppWithSecret.unjudged) { try $0.records() }
        let ranges: [PausedRange] = try await database.ask(connection, PausedRange.statement) { try $0.records() }
        context.event { $0.apps.pausedRanges = ranges }
        try await read(Array(Set(context.state.apps.ids).union(unjudged)), on: connection)
        // Only now: if reading fails, the change has to be noticed again.
        context.event { if !$0.apps.hasUnreadCredentials { $0.apps.fingerprint = fingerprint } }
        expiry.changed()
        context.dispatchBell.ring()
    }

    func read(_ ids: [Int32], on connection: PostgresConnection) async throws(PostgresError) {
        guard !ids.isEmpty else { return }
        let parameters = context.state.apps.parameters(for: ids)
        let rows: [AppWithSecret] = try await database.ask(connection, AppWithSecret.statement, parameters) {
            try $0.records()
        }
        let (unused, events) = context.event { $0.read(rows, of: ids) }
        for event in events { context.log(event) }
        context.count { counters in
            for row in rows { counters.names[row.app.id] = row.app.name }
        }
        for credential in unused { await outdate(credential) }
    }

    /// Warns of certificates that expire soon, and sets the status in their rows.
    private func lookForExpiry(on connection: PostgresConnection) async throws(PostgresError) {
        try await connection.execute(CredentialStatements.age)
        let expiring: [ExpiringCertificate] = try await database.ask(connection, CredentialStatements.expiring) {
            try $0.records()
        }
        for certificate in expiring where expiry.mustWarn(of: certificate.id, days: certificate.days) {
            context.log(.credentialExpires(name: certificate.name, days: certificate.days))
        }
    }

    // MARK: Credentials

    /// The credential for deliveries.
    /// - Parameter worker: Has the provider tokens for a signing key.
    func supplied(_ credential: Credential, by worker: Worker) -> Credential {
        if let supplied = suppliedCredentials[credential] { return supplied }
        let supplied = credential.supplied { [weak worker] key, refused in
            guard let worker else { throw PushError(.shutDown, "the worker has ended") }
            return try await worker.providerToken(key, refusing: refused)
        }
        suppliedCredentials[credential] = supplied
        return supplied
    }

    /// A flight that sent with this credential has ended. If the credential was replaced before the pushes reached the
    /// backend, they brought it back into use.
    func flightEnded(using credential: Credential, of app: Int32) async {
        if !context.state.apps.isInUse(credential, by: app) { await outdate(credential) }
    }

    /// Its connections end with the last push in flight on them.
    private func outdate(_ credential: Credential) async {
        suppliedCredentials[credential] = nil
        await context.backend.outdate(credential: credential)
    }

    /// The token that all workers of this database use now. Nil if no app has the key.
    func providerToken(
        by key: ProviderTokenKey,
        refusing refused: ProviderToken?,
        keeping kept: ProviderToken?
    ) async throws -> (ProviderToken?, now: Int64)? {
        guard let connection = database.shared else {
            throw PushError(.noProviderToken, "there is no connection to PostgreSQL")
        }
        guard let isTry = context.event({ $0.refusals.mayAsk(.token, of: nil, after: .none, at: .now) }) else {
            throw PushError(.noProviderToken, "PostgreSQL refuses to share provider tokens")
        }
        do throws(PostgresError) {
            // Of several credentials with that key, all workers must know the lowest.
            let apps: [Int32] = try await database.ask(
                connection,
                CredentialStatements.appsWithKey,
                Parameters(key.keyID, key.teamID)
            ) { try $0.records() }
            try await read(apps.filter { context.state.apps.isUnread($0) }, on: connection)
            var result: (ProviderToken?, now: Int64)?
            if let row = context.state.apps.row(withDigest: key.digest) {
                result = try await CredentialStatements.providerToken(
                    of: row.certificate,
                    row.since,
                    refusing: refused,
                    keeping: kept,
                    on: connection
                )
            }
            context.event { $0.refusals.succeeded(.token) }
            return result
        } catch {
            database.failed(error, on: connection, isPaced: true)
            if error.code == .server {
                context.event { $0.refusals.refused(.token, isTry: isTry || error.isTimeout, at: .now) }
            }
            throw error
        }
    }

    // MARK: Notes

    /// Writes the notes about credentials and apps, on a connection of their own, since these rows may be locked for long.
    func keepNotes() async {
        for await _ in context.notesBell.rings where !context.state.notes.isEmpty {
            guard await database.connection() != nil else { return }
            await database.withOwnConnection(for: .notes, writeNotes)
            if context.state.notes.isEmpty {
                context.event { $0.succeeded(in: .notes) }
            } else {
                // `event` rings again, because notes are left.
                guard await context.sleep(for: context.event { $0.failed(in: .notes) }) else { return }
            }
        }
    }

    /// Writes each note by itself, so that a locked row delays only its own.
    func writeNotes(on connection: PostgresConnection) async throws(PostgresError) {
        var failure: PostgresError?
        var notes = ArraySlice(context.event { $0.notes.take() })
        while let note = notes.first {
            do throws(PostgresError) {
                try await note.write(by: context.state.lease.id, on: connection)
                notes.removeFirst()
            } catch {
                let mayTryNext = context.event { $0.refusals.mayTryNext(after: error, at: .now) }
                notes = context.event { $0.notes.failed(notes, with: error, mayTryNext: mayTryNext) }
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private static let endHolds = Statement("end_holds", "DELETE FROM carillon.holds h WHERE h.worker_id = $1")

    /// Ends the holds that this worker has written.
    func endHolds(on connection: PostgresConnection) async throws(PostgresError) {
        try await connection.execute(Self.endHolds, Parameters(context.state.lease.id))
    }
}

private struct ExpiringCertificate: Decodable, Sendable {
    let id: Int32
    let name: String
    let days: Int64
}
