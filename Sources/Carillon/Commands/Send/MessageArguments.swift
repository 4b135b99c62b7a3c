import CarillonIO
import CarillonPostgres
import CarillonText

/// The options of `send` and `broadcast` that describe the notification, and how they are passed to the SQL functions.
enum MessageArguments {
    static let options: [Option] = [
        .alert, .title, .subtitle, .body, .badge, .sound, .payload, .pushType, .priority, .collapseID, .expiresIn,
        .bodies,
        .topic.help("The topic to send to, instead of the app's; one that 'app set --topics' allows."),
    ]

    /// The arguments by name, numbered from `first`.
    static func named(from first: Int) -> String {
        let names = [
            "alert", "title", "subtitle", "body", "badge", "sound", "payload", "push_type", "priority", "collapse_id",
            "topic",
        ]
        let arguments = names.enumerated().map { "\($1) => $\(first + $0)" }
        let expiry = "expires_at => now() + $\(first + names.count) * interval '1 millisecond'"
        let bodies = "bodies => $\(first + names.count + 1)::text::jsonb"
        return (arguments + [expiry, bodies]).joined(separator: ", ")
    }

    /// Their values, in the same order.
    static func append(_ settings: Settings, to parameters: inout Parameters) {
        parameters.append(settings.text(.alert))
        parameters.append(settings.text(.title))
        parameters.append(settings.text(.subtitle))
        parameters.append(settings.text(.body))
        parameters.append(settings.countIfAny(.badge).map(Int32.init))
        parameters.append(settings.text(.sound))
        parameters.append(settings.text(.payload))
        parameters.append(settings.text(.pushType))
        parameters.append(settings.countIfAny(.priority).map(Int32.init))
        parameters.append(settings.text(.collapseID))
        parameters.append(settings.text(.topic))
        parameters.append(settings.durationIfAny(.expiresIn).map { $0.seconds * 1000 })
        parameters.append(settings.text(.bodies))
    }

    /// Runs the statement that enqueues, and prints its notices. Reports a refused argument as a usage error.
    static func enqueue<R: Sendable>(
        _ statement: Statement,
        _ parameters: Parameters,
        by invocation: Invocation,
        on connection: PostgresConnection,
        _ decode: @Sendable (borrowing Rows) throws -> R
    ) async throws -> R {
        do {
            let (value, notices) = try await connection.query(statement, parameters) { (try decode($0), $0.notices) }
            for notice in notices { invocation.console.warn(notice.sentence.visible) }
            try await invocation.warnOfCopy(connection)
            return value
        } catch let error as PostgresError {
            guard SQLState.badArgument.contains(error.sqlState ?? "") else { throw error }
            throw CommandError(
                .usage,
                error.message.asSentence,
                hint: error.hint ?? "'\(invocation.command.title) --help' says more."
            )
        }
    }
}
