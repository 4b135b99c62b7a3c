import ApplePush
import CarillonPostgres
import CarillonSchema

/// What is to be written about credentials and apps: the facts and the status of a credential, and why an app is held. The
/// latest note of a kind counts.
struct WorkerNotes: Sendable {
    enum Note: Sendable {
        /// The facts of a credential that was written.
        case facts(CredentialFacts)
        /// - Parameters:
        ///   - app: Which one has shown it.
        ///   - status: The new status, or nil if it is unchanged.
        ///   - stopsMinting: No worker mints a provider token for a while.
        case status(of: Int32, app: Int32, CredentialStatus?, error: String?, stopsMinting: Bool = false)
        /// Nil if the app can send again.
        case hold(app: Int32, (hold: Hold, wait: Duration)?)
        /// The app has another route than when it was held.
        case holdOutdated(app: Int32)

        fileprivate var key: Key {
            switch self {
            case .facts(let found): .facts(certificate: found.certificate)
            case .status(_, let app, _, _, _): .status(app: app)
            case .hold(let app, _), .holdOutdated(let app): .hold(app: app)
            }
        }

        /// This note and an earlier one that was not written.
        fileprivate func after(_ earlier: Self?) -> Self {
            guard case .status(let id, let app, let status, let error, let stops) = self,
                case .status(id, _, let before, _, let stopped) = earlier
            else { return self }
            return .status(of: id, app: app, status ?? before, error: error, stopsMinting: stops || stopped)
        }
    }

    struct CredentialFacts: Sendable {
        let certificate: Int32
        /// When the credential was written.
        let since: Int64
        let facts: Result<Credential.Facts, Hold>
    }

    /// In the order of writing.
    fileprivate enum Key: Hashable, Comparable {
        case facts(certificate: Int32)
        case status(app: Int32)
        case hold(app: Int32)
    }

    private var notes: [Key: Note] = [:]

    var isEmpty: Bool { notes.isEmpty }

    mutating func add(_ note: Note) {
        let key = note.key
        notes[key] = note.after(notes[key])
    }

    /// A note was not written. It is written again, unless there is a later one.
    mutating func keep(_ note: Note) {
        let key = note.key
        notes[key] = notes[key]?.after(note) ?? note
    }

    /// Returns all notes, in the order in which they are to be written.
    mutating func take() -> [Note] {
        defer { notes = [:] }
        return notes.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The first of these notes was not written. It is written again, unless PostgreSQL refuses it or there is a later one.
    /// - Parameter mayTryNext: Whether the others may be written now.
    /// - Returns: Those to write now.
    mutating func failed(_ failed: ArraySlice<Note>, with error: PostgresError, mayTryNext: Bool) -> ArraySlice<Note> {
        if !error.isRefusal { failed.prefix(1).forEach { keep($0) } }
        if mayTryNext { return failed.dropFirst() }
        failed.dropFirst().forEach { keep($0) }
        return []
    }
}
