/// What went wrong between this program and PostgreSQL, as sentences for people and a code for programs. No password is
/// in any of them.
package struct PostgresError: Error, Sendable {
    /// The kind of failure; more kinds may come.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The connection string cannot be understood.
        package static let malformedURL = Code(description: "malformedURL")
        /// No PostgreSQL answers there, or it does not take connections now: worth another try.
        package static let unreachable = Code(description: "unreachable")
        /// The same, and nobody has named one: neither the connection string nor libpq's variables.
        package static let unnamed = Code(description: "unnamed")
        /// It answered, and refuses this user, password or database.
        package static let authentication = Code(description: "authentication")
        /// The server's own error about a statement; `sqlState` tells which.
        package static let server = Code(description: "server")
        /// The connection is lost or closed; `outcome` says what that means for the statement.
        package static let closed = Code(description: "closed")
        /// A value is not of the type that the program expected.
        package static let unexpectedValue = Code(description: "unexpectedValue")
        /// The programs of a PostgreSQL server are not installed.
        package static let notInstalled = Code(description: "notInstalled")
        /// A private cluster did not start.
        package static let clusterFailed = Code(description: "clusterFailed")
        /// The waiting task was cancelled.
        package static let cancelled = Code(description: "cancelled")
    }

    /// What became of the statement.
    package enum Outcome: Sendable {
        /// It has changed nothing and never will: the server refused it, or it was never sent.
        case nothingDone
        /// It was sent and no answer came: it may have been committed, or not.
        case unknown
    }

    package let code: Code
    package let message: String
    package var outcome: Outcome
    /// Five characters, where the server said them.
    package let sqlState: String?
    /// What the server advises, or we do.
    package let hint: String?
    /// The server's `DETAIL`, which may quote the row's values: not for logs.
    package let detail: String?
    package let constraint: String?
    /// The table of the row that somebody else has locked, where the server names it.
    package var lockedRelation: String?
    /// The statement's name.
    package var statement: String?
    /// A connection that was closed was well, but this side could not go on with it: for want of memory, say.
    package var isOfThisSide = false

    package init(
        _ code: Code,
        _ message: String,
        outcome: Outcome = .nothingDone,
        sqlState: String? = nil,
        hint: String? = nil,
        detail: String? = nil,
        constraint: String? = nil,
        statement: String? = nil
    ) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.sqlState = sqlState
        self.hint = hint
        self.detail = detail
        self.constraint = constraint
        self.statement = statement
    }
}

extension PostgresError {
    /// A session was to be had, and its first statement is not answered.
    static func silent(for limit: Duration) -> PostgresError {
        PostgresError(
            .closed,
            "PostgreSQL took the connection and did not answer within \(limit)",
            hint: "a pooler in session mode does so while all its server connections are in use: use transaction mode, "
                + "or raise its pool size"
        )
    }

    /// It may pass: the same statement may succeed another time. Everything else that the server says is a refusal, and so
    /// is a value that cannot be sent or read.
    ///
    /// The list is that of `carillon.is_transient`: trouble with the connection (08), transactions that collide (40),
    /// resources that run out (53), locks and time limits (55P03, 57014, 25P03, 25P04), a server that stops, starts or
    /// fails over (57P, 25006), or its disks (58). So is what concerns this connection and not what was asked: a prepared
    /// statement that a pooler has taken away, or has already (26000, 42P05).
    package var isTransient: Bool {
        guard code == .server, let state = sqlState else { return code != .unexpectedValue }
        return switch state.prefix(2) {
        case "08", "40", "53", "58": true
        case "57": state.hasPrefix("57P") || state == "57014"
        default: Self.transientStates.contains(state)
        }
    }

    private static let transientStates: Set<String> = ["55P03", "25P03", "25P04", "25006", "26000", "42P05"]
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        var text = message
        if let statement { text += " (statement \(statement)" + (sqlState.map { ", SQLSTATE \($0))" } ?? ")") }
        if let hint { text += (text.hasSuffix(".") ? " " : ": ") + hint }
        return text
    }
}
