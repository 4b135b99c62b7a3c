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
            let subject = try TraceSubject(invocation)
            let records = try await DatabaseScope.with(invocation) { connection, _ in
                try await subject.trace(on: connection)
            }
            invocation.show(records.json) { console in
                for record in records { console.print(subject.line(record).visible) }
                for explanation in subject.explanations(records) { console.print(explanation.visible) }
            }
            return records.contains(where: \.isNothing) ? .failed : .done
        }
    )
}

/// What a trace is about.
private struct TraceSubject {
    private let app: String
    private let owner: String?
    private let token: String?
    private let reference: String?
    private let message: Int64?
    private let since: Double?
    private let maxRowsRead: Int32

    init(_ invocation: Invocation) throws(UsageError) {
        let settings = invocation.settings
        app = invocation.name
        owner = settings.text(.owner)
        token = settings.text(.tracedToken)
        reference = settings.text(.reference)
        message = settings.countIfAny(.tracedMessage).map(Int64.init)
        since = settings.durationIfAny(.tracedSince)?.seconds
        maxRowsRead = Int32(settings.count(.maxRowsRead))
        guard [owner != nil, token != nil, reference != nil, message != nil].count(where: { $0 }) == 1 else {
            throw UsageError(
                "\(invocation.command.title) takes exactly one of --owner, --token, --reference and --message."
            )
        }
    }

    func trace(on connection: PostgresConnection) async throws -> [TraceRecord] {
        try await AppStore(connection).require(app)
        return try await TraceRecord.all(
            of: app,
            owner: owner,
            token: token,
            reference: reference,
            message: message,
            since: since,
            reading: maxRowsRead,
            from: connection
        )
    }

    /// As in "2026-11-22T11:45:00Z  accepted by Apple (message 4711)". What the user has named is not repeated.
    func line(_ record: TraceRecord) -> String {
        let message = self.message == nil ? record.messageID.map { "message \($0)" } : nil
        let token = self.token == nil ? record.token.map { "token \($0)" } : nil
        let names = [message, token].compactMap(\.self)
        let end = names.isEmpty ? "" : " (\(names.joined(separator: ", ")))"
        let time = record.at?.text ?? (record.event == "not known" ? "Not known:" : "At an unknown time:")
        return "\(time)  \(record.what)\(end)"
    }

    /// What each reason means, once.
    func explanations(_ records: [TraceRecord]) -> [String] {
        var reasons: [String] = []
        for record in records {
            if let reason = record.reason, !reasons.contains(reason) { reasons.append(reason) }
        }
        return reasons.map { "\($0): \(ReasonText.meaning(of: $0))" }
    }
}
