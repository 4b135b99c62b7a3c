import CarillonIO
import CarillonPostgres

/// Writes the notes about credentials and apps, on a connection of their own, since these rows may be locked for long.
extension Worker {
    func keepNotes() async {
        for await _ in notesBell.rings where !state.notes.isEmpty {
            guard await database() != nil else { return }
            await withOwnConnection(for: .notes, writeNotes)
            if state.notes.isEmpty {
                state.succeeded(in: .notes)
            } else {
                guard await sleep(for: state.failed(in: .notes)) else { return }
                notesBell.ring()
            }
        }
    }

    /// Writes each note by itself, so that a locked row delays only its own.
    func writeNotes(on connection: PostgresConnection) async throws(PostgresError) {
        var failure: PostgresError?
        for note in state.notes.take() {
            do throws(PostgresError) {
                try await write(note, on: connection)
            } catch {
                if error.isTransient { state.notes.keep(note) }
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
            let parameters = Parameters(app, trouble.kind.rawValue, trouble.message, wait.inSeconds, state.id)
            try await connection.execute(WorkerStatements.hold, parameters)
        case .hold(let app, nil):
            try await connection.execute(WorkerStatements.endHold, Parameters(app))
        }
    }
}
