import CarillonPostgres
import CarillonPushQueue
import CarillonSchema

/// The message that a command is about: an id, or the caller's own reference.
struct MessageKey {
    let id: Int64?
    let reference: String?
    let app: String?

    init(_ invocation: Invocation) throws(UsageError) {
        reference = invocation.settings.text(.reference)
        app = invocation.settings.text(.app)
        id = try invocation.arguments.first.map { word throws(UsageError) in try Self.id(word, invocation.command) }
        guard (id == nil) != (reference == nil) else {
            throw UsageError("\(invocation.command.title) takes either the ID of a message or --reference.")
        }
    }

    static func id(_ word: String, _ command: Command) throws(UsageError) -> Int64 {
        guard let id = Int64(word), id > 0 else {
            throw UsageError("\(command.title) takes the number that enqueue returned, not '\(word)'.")
        }
        return id
    }

    /// Every message that it names; throws if there is none.
    func find(on connection: PostgresConnection) async throws -> [MessageStatus] {
        if let app { try await AppStore(connection).require(app) }
        let messages = try await MessageStatus.all(id, reference: reference, of: app, from: connection)
        guard !messages.isEmpty else {
            throw Self.unknown(id.map { "\($0)" } ?? "with the reference \(reference ?? "")", of: app)
        }
        return messages
    }

    static func unknown(_ what: String, of app: String? = nil) -> CommandError {
        CommandError(
            .failed,
            "There is no message \(what)\(app.map { " of app \($0)" } ?? "").",
            hint:
                "Messages that have ended are deleted after the workers' --retention. A retry has an id of its own, which is "
                + "forgotten when it ends: use the id that enqueue returned."
        )
    }
}
