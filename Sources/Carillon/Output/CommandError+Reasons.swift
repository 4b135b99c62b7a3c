import ApplePush
import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonTLS
import CarillonText

extension CommandError {
    /// Explains any error to the user who called the command.
    init(explaining error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(.usage, error.sentence)
        case let error as CSVFileError: self.init(.configuration, "The file cannot be read: \(error.reason)")
        case let error as FileError: self.init(error.isDiskFull ? .failed : .configuration, error.sentence)
        case let error as IOError: self.init(Self.status(of: error), error.message.asSentence)
        case let error as PushError: self.init(Self.status(of: error), error.message.asSentence)
        case is PostgresError, is CancellationError: self.init(Explanation(error))
        case let error as TLSError: self.init(Self.status(of: error), error.message.asSentence)
        case let error as SchemaError: self.init(explaining: error)
        case let error as SettingsError: self.init(explaining: error)
        case let error as SimulatorError: self.init(Self.status(of: error), error.message.asSentence)
        default: self.init(.failed, String(describing: error).asSentence)
        }
    }

    /// What hints of the schema name, and the commands and options that do the same.
    static let commands: [(object: String, command: String)] = [
        ("allow_private => true", "--\(Option.allowPrivate.flag)"),
        ("The view carillon.webhook_status", Command.webhookList.title),
        ("carillon.remove_webhook", Command.webhookRemove.title),
        ("carillon.remove_api_token", Command.apiTokenRemove.title),
        ("carillon.request_channel", Command.channelCreate.title),
        ("carillon.record_channel", Command.channelSync.title),
    ]

    private init(_ explanation: Explanation) {
        let status: ExitStatus =
            switch explanation.kind {
            case .configuration: .configuration
            case .unavailable: .unavailable
            case .tryAgain: .tryAgain
            case .failed: .failed
            }
        let hint = explanation.hint.map { hint in
            Self.commands.reduce(hint) { $0.replacing($1.object, with: "'\($1.command)'") }
        }
        self.init(status, explanation.sentence, hint: hint, lacksRights: explanation.lacksRights)
    }

    private init(explaining error: SchemaError) {
        switch error.code {
        case .missing, .outdated, .newer, .changed, .plans, .moved: self.init(.configuration, error.message)
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
        case .exhausted: self.init(.tryAgain, error.message.asSentence)
        case .database:
            if let cause = error.underlying as? PostgresError {
                self.init(Explanation(cause))
            } else {
                self.init(.failed, error.message.asSentence)
            }
        default: self.init(.failed, error.message.asSentence)
        }
    }

    private static func status(of error: TLSError) -> ExitStatus {
        switch error.code {
        case .unreachable, .refused, .timedOut, .reset, .truncated: .unavailable
        case .cancelled, .exhausted: .tryAgain
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
        case .invalidCredential, .invalidGateway, .untrusted, .refused, .notHTTP2, .noProviderToken: .configuration
        case .unreachable, .timedOut: .unavailable
        case .throttled, .blocked, .cancelled, .exhausted: .tryAgain
        default: .failed
        }
    }
}
