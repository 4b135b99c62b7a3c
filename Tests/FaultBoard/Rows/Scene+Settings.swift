import ApplePushSimulator
import CarillonPushQueue

extension Scene {
    /// Replaces the app's certificate by one for these topics.
    func certify(_ topics: [String]) async throws {
        let issued = try simulator.issueCertificate(topics: topics)
        try await client.session { connection in
            _ = try await CredentialStore(connection).save(
                CredentialText(certificate: issued.certificate, privateKey: issued.privateKey),
                as: Self.app
            )
        }
    }

    /// Enqueues a message by `carillon.enqueue` and records it in the ledger. Returns its id.
    @discardableResult
    func enqueue(
        _ message: Ledger.Message,
        app: String = Self.app,
        _ more: [(argument: String, value: String)] = []
    ) async throws -> Int {
        var arguments = [
            ("app", OddRow.quoted(app)),
            ("tokens", "ARRAY[\(message.tokens.map(OddRow.quoted).joined(separator: ","))]::text[]"),
            ("payload", OddRow.quoted(message.payload)), ("reference", OddRow.quoted(message.reference)),
        ]
        arguments += more.map { ($0.argument, $0.value) }
        let id = try await client.number(
            "carillon.enqueue(\(arguments.map { "\($0.0) => \($0.1)" }.joined(separator: ", ")))"
        )
        ledger.committed([message])
        return id
    }

    /// A message to new device tokens with the prefix.
    func message(tokens width: Int = 1, prefix: String = "") -> Ledger.Message {
        let number = numbers.take(1).lowerBound
        return Ledger.Message(
            reference: "m\(number)",
            tokens: (0..<width).map { Self.token(prefix, number * 65_536 + $0) },
            payload: #"{"aps":{"alert":"Board"},"m":"m\#(number)"}"#,
            mayRepeat: true
        )
    }
}
