import ApplePush
import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonTLS

extension CommandError {
    /// Explains any error to the user who called the command.
    init(explaining error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(.usage, error.sentence)
        case let error as FileError: self.init(error.isDiskFull ? .failed : .configuration, error.sentence)
        case let error as IOError: self.init(Self.status(of: error), error.message.asSentence)
        case let error as PushError: self.init(Self.status(of: error), error.message.asSentence)
        case let error as PostgresError: self.init(explaining: error)
        case let error as TLSError: self.init(Self.status(of: error), error.message.asSentence)
        case let error as SchemaError: self.init(explaining: error)
        case let error as SettingsError: self.init(explaining: error)
        case let error as SimulatorError: self.init(Self.status(of: error), error.message.asSentence)
        case is CancellationError: self.init(.tryAgain, "It was interrupted before it was done.")
        default: self.init(.failed, String(describing: error).asSentence)
        }
    }

    private init(explaining error: PostgresError) {
        let sentence = error.message.asSentence
        let hint = error.hint?.asSentence
        // PgBouncer's own message; it is also the cause of whatever it refuses afterwards.
        if error.message.contains("statement pooling mode") {
            self.init(
                .configuration,
                "A pooler in statement mode lies between this program and PostgreSQL, and allows no transactions: \(sentence)",
                hint: "Set pool_mode = transaction (or session) for this database in PgBouncer, or connect past it."
            )
            return
        }
        switch error.code {
        case .malformedURL:
            self.init(.configuration, sentence, hint: hint ?? "Check --database, or the variable it came from.")
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
        case .cancelled:
            self.init(.tryAgain, "It was interrupted before it was done.")
        case .server:
            let state = error.sqlState ?? ""
            if SQLState.wrongSchema.contains(state) {
                self.init(
                    .configuration,
                    "The database has no schema 'carillon' that fits this program: \(error.message.asSentence)",
                    hint: "'carillon migrate status' shows more, and 'carillon migrate up' fixes it."
                )
            } else if state == SQLState.insufficientPrivilege {
                self.init(
                    .configuration,
                    sentence,
                    hint:
                        "Have a superuser, or the schema's owner with the admin option, grant this user the role that it takes: carillon_worker for "
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

    private init(explaining error: SchemaError) {
        switch error.code {
        case .missing, .outdated, .newer, .changed, .plans: self.init(.configuration, error.message)
        case .unknownVersion: self.init(.usage, error.message)
        case .failed, .invalid: self.init(.failed, error.message.asSentence)
        default:
            if let cause = error.underlying {
                self.init(explaining: cause)
            } else {
                self.init(.failed, error.message.asSentence)
            }
        }
    }

    private init(explaining error: SettingsError) {
        switch error.code {
        case .invalid: self.init(.configuration, error.message.asSentence)
        case .database:
            if let cause = error.underlying as? PostgresError {
                self.init(explaining: cause)
            } else {
                self.init(.failed, error.message.asSentence)
            }
        default: self.init(.failed, error.message.asSentence)
        }
    }

    private static func status(of error: TLSError) -> ExitStatus {
        switch error.code {
        case .unreachable, .refused, .timedOut, .reset, .truncated: .unavailable
        case .cancelled: .tryAgain
        default: .configuration
        }
    }

    private static func status(of error: IOError) -> ExitStatus {
        switch error.code {
        case .unresolvable, .addressUnavailable, .forbidden: .configuration
        case .refused, .unreachable, .timedOut, .addressInUse, .reset: .unavailable
        case .exhausted, .cancelled: .tryAgain
        default: .failed
        }
    }

    private static func status(of error: SimulatorError) -> ExitStatus {
        switch error.code {
        case .badRule, .badConfiguration: .usage
        case .badKey: .configuration
        default: .unavailable
        }
    }

    private static func status(of error: PushError) -> ExitStatus {
        switch error.code {
        case .invalidMessage: .failed
        case .invalidCredential, .invalidGateway, .untrusted, .refused, .notHTTP2, .noProviderToken: .configuration
        case .unreachable: .unavailable
        default: .failed
        }
    }
}

extension String {
    /// Capitalized, with a full stop at the end.
    var asSentence: String {
        guard let first, let last else { return self }
        let end = ".!?".contains(last) ? "" : "."
        return first.uppercased() + dropFirst() + end
    }
}
