import Testing

extension Scene {
    /// Inserts the rows among good ones, has a worker send all of them, and compares the result of each with the expected one.
    /// The audit checks that the good ones are sent.
    @discardableResult
    func digest(_ rows: [OddRow], sourceLocation: SourceLocation = #_sourceLocation) async throws -> Audit {
        var messages: [Ledger.Message] = []
        for row in rows {
            try await enqueue(2)
            messages.append(try await insert(row))
        }
        try await enqueue(2)
        try await fleet.started()
        let audit = try await finish(localReasons: Set(rows.compactMap(\.localReason)), sourceLocation: sourceLocation)
        for (row, message) in zip(rows, messages) {
            let said = audit.said(of: message)
            #expect(said == row.end.said(of: message), "\(row.columns)", sourceLocation: sourceLocation)
        }
        return audit
    }

    /// Inserts a row, and records it in the ledger.
    @discardableResult
    func insert(_ row: OddRow) async throws -> Ledger.Message {
        let number = numbers.take(1).lowerBound
        let message = Ledger.Message(
            reference: "m\(number)",
            tokens: row.tokens ?? [Self.token("", number * 65_536)],
            payload: row.payload ?? #"{"aps":{"alert":"Odd"},"m":"m\#(number)"}"#,
            mayRepeat: true
        )
        var columns = [
            ("app_id", "(SELECT a.id FROM carillon.apps a WHERE a.name = '\(Self.app)')"),
            ("tokens", "ARRAY[\(message.tokens.map(OddRow.quoted).joined(separator: ","))]::text[]"),
            ("payload", OddRow.quoted(message.payload)), ("reference", OddRow.quoted(message.reference)),
        ]
        columns.removeAll { usual in row.columns.contains { $0.name == usual.0 } }
        columns += row.columns.map { ($0.name, $0.value) }
        try await client.run(
            "INSERT INTO carillon.messages (\(columns.map(\.0).joined(separator: ", "))) "
                + "VALUES (\(columns.map(\.1).joined(separator: ", ")))"
        )
        ledger.committed([message])
        return message
    }
}

extension Audit {
    /// What the tables and the gateway say of a message, in a form that can be compared.
    fileprivate func said(of message: Ledger.Message) -> String {
        let seen = message.tokens.filter { sightings[$0] != nil }.count
        guard let result = outcomes.results[message.reference]?.first else { return "no result, \(seen) seen" }
        let reasons = (outcomes.failures[message.reference] ?? []).map { failure in
            (failure.status.map { "\($0) " } ?? "") + failure.reason
        }
        return "sent \(result.sent), expired \(result.expired), failed \(reasons), \(seen) seen"
    }
}

extension OddRow.End {
    /// The expected summary.
    fileprivate func said(of message: Ledger.Message) -> String {
        let count = message.tokens.count
        switch self {
        case .sent: return "sent \(count), expired 0, failed [], \(count) seen"
        case .expired: return "sent 0, expired \(count), failed [], 0 seen"
        case .refused(let reason):
            return "sent 0, expired 0, failed \([String](repeating: reason, count: count)), 0 seen"
        case .rejected(let answer):
            return "sent 0, expired 0, failed \([String](repeating: answer, count: count)), \(count) seen"
        }
    }
}
