import ApplePush
import CarillonSchema
import Testing

@testable import CarillonPushQueue

@Suite struct WorkerNotesTests {
    private func texts(_ notes: [WorkerNotes.Note]) -> [String] {
        notes.map { note in
            switch note {
            case .facts(let found): "facts \(found.certificate) of \(found.since)"
            case .status(let id, let app, let status, let error, let stops):
                "\(id) by app \(app) \(status?.rawValue ?? "as it was"): \(error ?? "no error")"
                    + (stops ? ", mints nothing" : "")
            case .hold(let app, let reason): "app \(app) \(reason?.hold.message ?? "can send")"
            case .holdOutdated(let app): "app \(app) has changed"
            }
        }
    }

    @Test func `the latest note of an app about its credential counts, with what an unwritten earlier one adds`() {
        var notes = WorkerNotes()
        notes.add(.status(of: 1, app: 1, .rejected, error: "no", stopsMinting: true))
        notes.add(.status(of: 2, app: 2, .ok, error: nil))
        notes.add(.status(of: 1, app: 1, nil, error: "unreachable"))
        let written = ["1 by app 1 rejected: unreachable, mints nothing", "2 by app 2 ok: no error"]
        #expect(texts(notes.take()) == written)
        #expect(notes.isEmpty)
    }

    @Test func `apps that share a credential have notes of their own, and one of an earlier credential is dropped`() {
        var notes = WorkerNotes()
        notes.add(.status(of: 1, app: 1, .rejected, error: "no", stopsMinting: true))
        notes.add(.status(of: 1, app: 2, .ok, error: nil))
        notes.add(.status(of: 3, app: 1, nil, error: "unreachable"))
        #expect(texts(notes.take()) == ["3 by app 1 as it was: unreachable", "1 by app 2 ok: no error"])
    }

    @Test func `a note that was not written is kept, unless there is a later one`() {
        var notes = WorkerNotes()
        notes.keep(.status(of: 1, app: 1, .rejected, error: "no"))
        notes.add(.status(of: 2, app: 2, .ok, error: nil))
        notes.keep(.status(of: 2, app: 2, .rejected, error: "no"))
        #expect(texts(notes.take()) == ["1 by app 1 rejected: no", "2 by app 2 ok: no error"])
        let facts = Swift::Result<Credential.Facts, Hold>.failure(Hold(.credential, "no"))
        notes.add(.facts(WorkerNotes.CredentialFacts(certificate: 1, since: 2, facts: facts)))
        notes.keep(.facts(WorkerNotes.CredentialFacts(certificate: 1, since: 1, facts: facts)))
        #expect(texts(notes.take()) == ["facts 1 of 2"])
    }

    @Test func `facts are written first, then the status of credentials, then holds`() {
        var notes = WorkerNotes()
        let hold = Hold(.connection, "cannot connect")
        notes.add(.hold(app: 2, (hold, .seconds(1))))
        notes.add(.hold(app: 1, nil))
        notes.add(.status(of: 3, app: 1, .ok, error: nil))
        notes.add(.facts(WorkerNotes.CredentialFacts(certificate: 4, since: 1, facts: .failure(hold))))
        let written = ["facts 4 of 1", "3 by app 1 ok: no error", "app 1 can send", "app 2 cannot connect"]
        #expect(texts(notes.take()) == written)
    }
}

extension [WorkerNotes.Note] {
    /// What is to be written as the status of credentials.
    var statuses: [CredentialStatus?] {
        compactMap { if case .status(_, _, let status, _, _) = $0 { status } else { nil } }
    }
}
