import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let trace = Command(
        "trace",
        roles: ["carillon_app", "carillon_reader"],
        summary: "Show in the order of time what is known of a person, a token, a reference or a message.",
        discussion: """
            Takes exactly one of --owner, --token, --reference and --message. Reads the newest rows of the app, and says at the
            end what it did not read, and what is not recorded: a push that was accepted, expired, cancelled or replaced is not
            kept by its token, so trace its reference or its message.
            """,
        arguments: [Argument("APP", "The app.")],
        options: [.owner, .tracedToken, .reference, .tracedMessage, .tracedSince, .maxRowsRead, .json, .database],
        exits: [.done: "It is shown.", .failed: "The app has no such message."],
        examples: ["carillon trace acme --owner u-42 --since 2d", "carillon trace acme --reference order-7 --json"],
        run: { invocation in
            let subject = try invocation.subject
            let records = try await DatabaseScope.with(invocation) { connection, _ in
                let app = invocation.name
                try await AppStore(connection).require(app)
                return try await TraceRecord.all(
                    of: app,
                    subject,
                    since: invocation.settings.durationIfAny(.tracedSince)?.seconds,
                    reading: Int32(invocation.settings.count(.maxRowsRead)),
                    from: connection
                )
            }
            invocation.show(records.json) { console in
                for record in records { console.print(record.line(of: subject).visible) }
                for explanation in records.explanations { console.print(explanation.visible) }
            }
            return records.contains(where: \.isNothing) ? .failed : .done
        }
    )
}

extension Invocation {
    fileprivate var subject: TraceSubject {
        get throws(UsageError) {
            let subjects: [TraceSubject] = [
                settings.text(.owner).map(TraceSubject.owner),
                settings.text(.tracedToken).map(TraceSubject.token),
                settings.text(.reference).map(TraceSubject.reference),
                settings.countIfAny(.tracedMessage).map { .message(Int64($0)) },
            ].compactMap(\.self)
            guard let subject = subjects.first, subjects.count == 1 else {
                throw UsageError("\(command.title) takes exactly one of --owner, --token, --reference and --message.")
            }
            return subject
        }
    }
}

extension TraceRecord {
    /// As in "2026-11-22T11:45:00Z  accepted by Apple (message 4711)". What the user has named is not repeated.
    fileprivate func line(of subject: TraceSubject) -> String {
        let message = subject.kind == .message ? nil : messageID.map { "message \($0)" }
        let token = subject.kind == .token ? nil : token.map { "token \($0)" }
        let names = [message, token].compactMap(\.self)
        let end = names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
        let time = at?.text ?? (isLimit ? "Not known:" : "At an unknown time:")
        return "\(time)  \(what)\(end)"
    }
}
