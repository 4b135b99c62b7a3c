import Postgres

/// Which message a command is about: an id, or the caller's own reference.
struct MessageKey {
    private static let find = Statement(
        "message_find",
        """
        SELECT \(MessageProgress.columns) FROM carillon.message_status(id => $1, reference => $2, app => $3) AS m
        ORDER BY m.id, m.app
        """
    )

    let id: Int64?
    let reference: String?
    /// Nil: of every app.
    let app: String?

    init(_ invocation: Invocation) throws(UsageError) {
        reference = invocation.settings.text(.reference)
        app = invocation.settings.text(.app)
        id = try invocation.arguments.first.map { word throws(UsageError) in try Self.id(word, invocation.command) }
        guard (id == nil) != (reference == nil) else {
            throw UsageError(
                "\(invocation.command.title) takes the ID of a message or --reference, one of the two.",
                command: invocation.command.words
            )
        }
    }

    static func id(_ word: String, _ command: Command) throws(UsageError) -> Int64 {
        guard let id = Int64(word), id > 0 else {
            throw UsageError(
                "\(command.title) takes the number that enqueue returned, not '\(word)'.",
                command: command.words
            )
        }
        return id
    }

    /// Every message that it names; throws when there is none.
    func find(on connection: PostgresConnection) async throws -> [MessageProgress] {
        var parameters = Parameters()
        parameters.append(id)
        parameters.append(reference)
        parameters.append(app)
        let messages = try await connection.query(Self.find, parameters) { rows in
            try rows.indices.map { try MessageProgress(rows, $0) }
        }
        guard !messages.isEmpty else {
            throw Self.unknown(id.map { "\($0)" } ?? "with the reference \(reference ?? "")")
        }
        return messages
    }

    static func unknown(_ what: String) -> CommandError {
        CommandError(
            .failed,
            "There is no message \(what).",
            hint: "History goes as far back as the retention of the workers."
        )
    }
}
