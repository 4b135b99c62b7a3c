import IO
import Postgres

/// Writing into the rows of credentials what they are and how they fare. Somebody may have such a row locked for as long
/// as they like: so it is done on a connection of its own, and reading waits for none of it.
extension Worker {
    func keepNotes() async {
        for await _ in notesBell.rings {
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

    /// Writes each by itself: a row that is locked keeps only what is about it.
    func writeNotes(on connection: PostgresConnection) async throws(PostgresError) {
        let (findings, judgements, holds) = state.notes.take()
        var failure: PostgresError?
        for finding in findings {
            do throws(PostgresError) {
                try await connection.execute(WorkerStatements.recordCredential, .credential(finding))
            } catch {
                if error.isTransient { state.notes.keep(finding) }
                failure = error
            }
        }
        for judgement in judgements {
            do throws(PostgresError) {
                if judgement.restsTokens {
                    try await connection.execute(WorkerStatements.restTokens, .restTokens(of: judgement.certificate))
                }
                try await connection.execute(WorkerStatements.judgeCredential, .judgeCredential(judgement))
            } catch {
                if error.isTransient { state.notes.keep(judgement) }
                failure = error
            }
        }
        for hold in holds {
            do throws(PostgresError) {
                if let (trouble, wait) = hold.reason {
                    let parameters: Parameters = .hold(hold.app, for: trouble, wait, by: state.id)
                    try await connection.execute(WorkerStatements.hold, parameters)
                } else {
                    try await connection.execute(WorkerStatements.endHold, .endHold(of: hold.app))
                }
            } catch {
                if error.isTransient { state.notes.keep(hold) }
                failure = error
            }
        }
        if let failure { throw failure }
    }

    func note(_ finding: CredentialFinding) {
        state.notes.add(finding)
        notesBell.ring()
    }

    func tell(_ report: Report) {
        tell(report.event)
        switch report.event {
        case .trouble(let app, _, let trouble, let wait):
            state.notes.add(CredentialNotes.Hold(app: app, reason: (trouble, wait)))
        case .troubleOver(let app, _): state.notes.add(CredentialNotes.Hold(app: app, reason: nil))
        default: break
        }
        if let judgement = report.judgement { state.notes.add(judgement) }
        notesBell.ring()
    }
}
