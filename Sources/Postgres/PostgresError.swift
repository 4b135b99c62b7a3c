import CarillonIO

/// An error from PostgreSQL or from the connection to it. Unlike the message, the description names the statement and includes the
/// hint.
package struct PostgresError: CodedError {
    package enum Code: Sendable {
        /// The connection string cannot be understood.
        case malformedURL
        /// No PostgreSQL answers at the address, or it does not accept connections now: worth retrying.
        case unreachable
        /// Like `unreachable`, and neither the connection string nor libpq's variables name a server.
        case unnamed
        /// The server answered but refuses this user, password or database.
        case authentication
        /// The server's own error about a statement: see `sqlState`.
        case server
        /// The connection is lost or closed: see `effect` for what became of the statement.
        case closed
        /// A value is not of the type that the program expected.
        case unexpectedValue
        /// The programs of a PostgreSQL server are not installed.
        case notInstalled
        /// A private cluster did not start.
        case clusterFailed
        /// The statement waited too long for its turn and was not sent.
        case busy
        case cancelled
    }

    /// What became of the statement.
    package enum Effect: Sendable {
        /// It has changed nothing and will change nothing: the server refused it, or it was never sent.
        case nothingDone
        /// It was sent but not answered: it may or may not have been committed.
        case unknown
    }

    package let code: Code
    package let message: String
    package let underlying: (any Error)?
    package var effect: Effect
    /// The SQLSTATE, five characters, if the server sent one.
    package let sqlState: String?
    /// What to do, from the server or from this program.
    package let hint: String?
    /// The server's `DETAIL`, which may quote the row's values: not for logs.
    package let detail: String?
    package let constraint: String?
    /// The table of the row that another session has locked, if the server names it.
    package var lockedRelation: String?
    /// Whether a trigger that a user has added caused the error. Known only of errors of schema and rights.
    package var isOfTrigger = false
    /// Whether notifications of the whole server are in the way: their queue is full. PostgreSQL finds that out at the commit.
    package var isOfNotifications = false
    package var statement: String?
    /// Which database it is of, if the program uses several at once.
    package private(set) var database: String?
    /// Whether this program gave the connection up because the server did not answer.
    package var isSilence: Bool
    /// Whether this program closed an intact connection because it could not continue, for example for lack of memory.
    package var isOwnFault = false

    package init(
        _ code: Code,
        _ message: String,
        effect: Effect = .nothingDone,
        sqlState: String? = nil,
        hint: String? = nil,
        detail: String? = nil,
        constraint: String? = nil,
        statement: String? = nil,
        isSilence: Bool = false,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        self.effect = effect
        self.sqlState = sqlState
        self.hint = hint
        self.detail = detail
        self.constraint = constraint
        self.statement = statement
        self.isSilence = isSilence
    }
}

extension PostgresError {
    /// The error for a session whose first statement is not answered.
    static func silent(for limit: Duration) -> PostgresError {
        PostgresError(
            .closed,
            "PostgreSQL accepted the connection and did not answer within \(limit)",
            hint: "a pooler in session mode does so while all its server connections are in use: use transaction mode, "
                + "or raise its pool size",
            isSilence: true
        )
    }

    /// The error for statements of a server that has stopped answering.
    package static func unanswered(by server: ServerAddress, for limit: Duration) -> PostgresError {
        PostgresError(
            .closed,
            "PostgreSQL at \(server) answered nothing for \(limit), so the connection was closed",
            hint: "the server, or a proxy or pooler before it, hangs: see what it does, or restart it, and try again",
            isSilence: true
        )
    }

    /// A private cluster did not start.
    static func cluster(_ message: String, hint: String? = nil, underlying: (any Error)? = nil) -> PostgresError {
        PostgresError(.clusterFailed, message, hint: hint, underlying: underlying)
    }

    /// Whether the same statement may succeed later. All other server errors are permanent, and so is a value that cannot be sent
    /// or read.
    ///
    /// The list is that of `carillon.is_transient`: connection failures (08), colliding transactions (40), exhausted resources
    /// (53), locks and time limits (55P03, 57014, 25P03, 25P04), a server that stops, starts or fails over (57P, 25006), and system
    /// errors such as disk failures (58). Errors that concern only this connection are transient too: a prepared statement that
    /// does not exist or already exists, because of a pooler (26000, 42P05). So is a queue of notifications that is full, whose
    /// SQLSTATE (54000) is also that of a row that is too large: `carillon.is_transient` never sees an error of a commit.
    package var isTransient: Bool {
        guard code == .server, let state = sqlState else { return code != .unexpectedValue }
        if isOfNotifications { return true }
        return switch state.prefix(2) {
        case "08", "40", "53", "58": true
        case "57": state.hasPrefix("57P") || state == SQLState.queryCanceled
        default: SQLState.transient.contains(state)
        }
    }

    /// The SQLSTATE of a statement's error. A failed connection's report has one too, and names host, port, role and database.
    package var statementState: String? { code == .server ? sqlState : nil }

    /// Whether PostgreSQL refuses the statement for its content, such as a row that violates a constraint. Errors of schema and
    /// rights say nothing about the content, unless they come from a trigger of a user. `carillon.is_refusal` decides alike.
    package var isRefusal: Bool {
        !isTransient && (isOfTrigger || !SQLState.isOfSchemaOrRights(sqlState))
    }

    /// The same error, of that database unless it is known to be of another.
    package func of(_ database: String) -> Self {
        var error = self
        error.database = self.database ?? database
        return error
    }

    /// The message, after the name of the database if there is one.
    package var fullMessage: String { (database.map { "in \($0): " } ?? "") + message }

    package var description: String {
        var text = fullMessage
        if let statement { text += " (statement \(statement)" + (sqlState.map { ", SQLSTATE \($0))" } ?? ")") }
        if let hint { text += (text.hasSuffix(".") ? " " : ": ") + hint }
        return text
    }
}
