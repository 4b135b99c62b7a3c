import CarillonPostgres
import CarillonText

/// What an error of the database means to the user: a sentence, and what to do.
package struct Explanation: Sendable {
    package enum Kind: Sendable {
        /// What the program was given does not fit, or is not enough.
        case configuration
        case unavailable
        /// The same may succeed later.
        case tryAgain
        case failed
    }

    package let kind: Kind
    package let sentence: String
    package let hint: String?
    /// PostgreSQL denied it to this user.
    package let lacksRights: Bool

    /// What a stranger is told in place of the sentence, which may name hosts, ports and roles. The log has both. It is the same for
    /// the same sentence, because a log leaves out repetitions, and differs between processes, so that nobody can guess from it.
    package var reference: String { String(UInt32(truncatingIfNeeded: sentence.hashValue), radix: 16) }

    /// Explains any error, and those of PostgreSQL in particular.
    package init(_ error: any Error) {
        switch error {
        case let error as PostgresError: self.init(of: error)
        case is CancellationError: self.init(.tryAgain, Self.interruption)
        default: self.init(.failed, String(describing: error).asSentence)
        }
    }

    private init(_ kind: Kind, _ sentence: String, hint: String? = nil, lacksRights: Bool = false) {
        self.kind = kind
        self.sentence = sentence
        self.hint = hint
        self.lacksRights = lacksRights
    }

    private static let interruption = "It was interrupted before it was done."

    private init(of error: PostgresError) {
        let sentence = error.fullMessage.asSentence
        let hint = error.hint?.asSentence
        // PgBouncer's own message; it is also the cause of whatever it refuses afterwards.
        if error.message.contains("statement pooling mode") {
            self.init(
                .configuration,
                "A pooler in statement mode is between this program and PostgreSQL, and allows no transactions: \(sentence)",
                hint: "Set pool_mode = transaction (or session) for this database in PgBouncer, or bypass it."
            )
            return
        }
        switch error.code {
        case .malformedURL:
            self.init(.configuration, sentence, hint: hint ?? "Check --database, or the variable that it comes from.")
        case .unnamed:
            self.init(
                .unavailable,
                "No database is named, and none answers on this machine: \(sentence)",
                hint: "Name it by --database or DATABASE_URL, as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or by "
                    + "libpq's PGHOST and so on."
            )
        case .unreachable, .closed:
            self.init(.unavailable, sentence, hint: hint ?? "Is PostgreSQL running there? Check --database.")
        case .authentication:
            self.init(.configuration, sentence, hint: hint ?? "Check user, password and database in --database.")
        case .notInstalled, .clusterFailed:
            self.init(.unavailable, sentence, hint: hint)
        case .busy:
            self.init(.tryAgain, sentence, hint: hint)
        case .cancelled:
            self.init(.tryAgain, Self.interruption)
        case .server:
            let state = error.sqlState ?? ""
            if SQLState.wrongSchema.contains(state) {
                self.init(
                    .configuration,
                    "The database has no schema 'carillon' that fits this program: \(sentence)",
                    hint: "'carillon migrate status' shows more, and 'carillon migrate up' fixes it."
                )
            } else if state == SQLState.insufficientPrivilege {
                self.init(
                    .configuration,
                    sentence,
                    hint:
                        "Have a superuser, or the schema's owner with the admin option, grant this login the role that it needs: carillon_worker for "
                        + "workers, carillon_app for applications, carillon_reader for dashboards.",
                    lacksRights: true
                )
            } else if SQLState.unavailable.contains(state) {
                self.init(.unavailable, sentence, hint: hint)
            } else if error.isTransient {
                self.init(.tryAgain, sentence, hint: hint)
            } else {
                self.init(.failed, sentence, hint: hint)
            }
        default:
            self.init(.failed, sentence, hint: hint)
        }
    }
}
