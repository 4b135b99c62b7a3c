import CarillonIO
import CarillonPostgres

/// Why a credential or an app cannot be stored, changed or removed.
package struct SettingsError: CodedError {
    package enum Code: Sendable {
        case unknownName
        case nameTaken
        case invalid
        case inUse
        /// There was no memory to read a credential.
        case exhausted
        /// The database did not answer, or reported an error.
        case database
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?

    package init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlying = underlying
    }

    package init(_ error: any Error) {
        switch error {
        case let error as SettingsError: self = error
        case let error as PostgresError: self.init(error)
        default: self.init(.database, "\(error)", underlying: error)
        }
    }

    private init(_ error: PostgresError) {
        if let name = error.constraint, let sentence = Self.sentences[name] ?? AppSettings.sentences[name] {
            self.init(.invalid, sentence, underlying: error)
        } else {
            self.init(.database, error.description, underlying: error)
        }
    }

    /// By the name of the constraint. `AppSettings` has those of the settings of an app.
    private static let sentences = [
        "certificates_name_is_not_empty": "A credential needs a name.",
        "certificates_name_is_255_bytes_at_most": "The name of a credential may be at most 255 bytes long.",
        "certificates_certificate_is_64_kb_at_most":
            "A certificate with its chain may be at most 65,536 bytes long: leave out certificates that are not part of it.",
        "certificates_private_key_is_64_kb_at_most": "A private key may be at most 65,536 bytes long.",
        "certificates_passphrase_is_4_kb_at_most": "A passphrase may be at most 4,096 bytes long.",
        "certificates_key_id_is_64_bytes_at_most": "A key id may be at most 64 bytes long.",
        "certificates_team_id_is_64_bytes_at_most": "A team id may be at most 64 bytes long.",
        "apps_paused_reason_is_4_kb_at_most": "The reason for a pause may be at most 4,096 bytes long.",
        "apps_moved_app_is_paused":
            "The app has moved to another database, or is still being moved here, so it cannot be resumed here.",
        "moves_app_exists": "The app is being moved: let 'carillon app move' end, or undo it with --cancel.",
        "channels_app_exists": "The app has channels: remove them first with 'carillon channel remove'.",
    ]

    static func unknown(_ what: String, _ name: String, known: [String]) -> Self {
        let more = known.count > 10 ? " and \(known.count - 10) more" : ""
        let list = known.isEmpty ? "none yet" : known.prefix(10).joined(separator: ", ") + more
        return Self(.unknownName, "There is no \(what) named \(name). Known \(what)s: \(list).")
    }
}

/// Turns every error of the body into a `SettingsError`.
func settings<R>(_ body: () async throws -> R) async throws(SettingsError) -> R {
    do {
        return try await body()
    } catch {
        throw SettingsError(error)
    }
}
