package import CarillonPostgres
package import CarillonText

/// A row of `trace`: what is known of a message, a device token or an owner at one time.
package struct TraceRecord: Record {
    private static let statement = Statement(
        "trace",
        """
        SELECT t.at, t.event, t.what, t.message_id, t.token, t.details::json, t.details ->> 'reason' AS reason, t.events
        FROM (
            SELECT k.*, count(*) FILTER (WHERE k.event <> 'not known') OVER () AS events,
                sum(200 + octet_length(to_json(k.what)::text) + coalesce(octet_length(k.token), 0)
                    + coalesce(octet_length(k.details::text), 0)) OVER (ORDER BY k.event = 'not known' DESC, k.ordinality DESC) AS bytes
            FROM carillon.trace(app => $1, owner => $2, token => $3, reference => $4, message_id => $5,
                since => make_interval(secs => $6), max_rows_read => $7) WITH ORDINALITY AS k
        ) AS t WHERE (t.bytes > $8) IS NOT TRUE ORDER BY t.ordinality
        """
    )

    /// Nil if the time is not known, and for what is not known.
    package let at: Moment?
    package let event: String
    package let what: String
    package let messageID: Int64?
    package let token: String?
    /// The reason of an attempt, or of a report of a dead token.
    package let reason: String?
    /// How many there are, without those that say what is not known: more than were read, if these were limited.
    package let events: Int
    private let row: JSONValue

    package var json: JSONValue {
        let columns = row.without("reason").without("events")
        return at.map { columns.with("at", TimeText.milliseconds($0.microseconds)) } ?? columns
    }

    /// There is no such message.
    package var isNothing: Bool { event == "not found" }

    /// It says whose a device token is.
    package var isOwner: Bool { event == "owner" }

    /// It says what is not recorded, or was not read.
    package var isLimit: Bool { event == "not known" }

    /// - Parameter maxBytes: about how many bytes the newest have as JSON that are returned; nil for all.
    package static func all(
        of app: String,
        _ subject: TraceSubject,
        since seconds: Double?,
        reading maxRowsRead: Int32,
        maxBytes: Int? = nil,
        from database: some StatementRunner
    ) async throws -> [TraceRecord] {
        let message: Int64? = if case .message(let id) = subject { id } else { nil }
        let (owner, token, reference) = (subject.text(.owner), subject.text(.token), subject.text(.reference))
        return try await database.values(
            of: statement,
            Parameters(app, owner, token, reference, message, seconds, maxRowsRead, maxBytes.map(Int64.init))
        )
    }
}

extension [TraceRecord] {
    /// What each reason in them means, once.
    package var explanations: [String] {
        var reasons: [String] = []
        for record in self {
            if let reason = record.reason, !reasons.contains(reason) { reasons.append(reason) }
        }
        return reasons.map { "\($0): \(ReasonText.meaning(of: $0))" }
    }
}
