import CarillonIO
import CarillonPostgres

/// Writes the notes about credentials and apps, on a connection of their own, since these rows may be locked for long.
extension Worker {
    func keepNotes() async {
        for await _ in notesBell.rings where !core.state.notes.isEmpty {
            guard await database.connection() != nil else { return }
            await database.withOwnConnection(for: .notes, writeNotes)
            if core.state.notes.isEmpty {
                core.event { $0.succeeded(in: .notes) }
            } else {
                guard await core.sleep(for: core.event { $0.failed(in: .notes) }) else { return }
                notesBell.ring()
            }
        }
    }

    /// Writes each note by itself, so that a locked row delays only its own.
    func writeNotes(on connection: PostgresConnection) async throws(PostgresError) {
        var failure: PostgresError?
        for note in core.event({ $0.notes.take() }) {
            do throws(PostgresError) {
                try await write(note, on: connection)
            } catch {
                if error.isTransient { core.event { $0.notes.keep(note) } }
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private func write(_ note: CredentialNotes.Note, on connection: PostgresConnection) async throws(PostgresError) {
        switch note {
        case .finding(let finding):
            try await connection.execute(WorkerStatements.recordCredential, .credential(finding))
        case .status(let certificate, let status, let error, let stopsMinting):
            if stopsMinting { try await connection.execute(WorkerStatements.restTokens, Parameters(certificate)) }
            try await connection.execute(WorkerStatements.judgeCredential, Parameters(certificate, status, error))
        case .hold(let app, let (trouble, wait)?):
            let parameters = Parameters(app, trouble.kind.rawValue, trouble.message, wait.inSeconds, core.state.id)
            try await connection.execute(WorkerStatements.hold, parameters)
        case .hold(let app, nil):
            try await connection.execute(WorkerStatements.endHold, Parameters(app))
        }
    }
}
