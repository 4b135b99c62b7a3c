import ApplePush
import ApplePushSimulator
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema

struct DemoDatabase: Sendable {
    static let app = "demo"
    static let tokensPerList = 500

    let connection: PostgresConnection

    static func topic(of app: String) -> String { "com.example.\(app)" }

    /// A certificate for an app of that name.
    static func certificate(for name: String, of gateway: APNsSimulator) throws -> CredentialText {
        let topic = topic(of: name)
        let derived = PushType.all.map(\.topicSuffix).filter { !$0.isEmpty }.map { topic + $0 }
        let issued = try gateway.issueCertificate(topics: [topic] + derived)
        return CredentialText(certificate: issued.certificate, privateKey: issued.privateKey)
    }

    /// Installs the schema, a credential, and an app that sends to the simulator.
    func prepare(_ gateway: APNsSimulator, app name: String, credential: CredentialText) async throws {
        _ = try await Migrator(connection).up()
        let topic = Self.topic(of: name)
        try await CredentialStore(connection).save(credential, as: name)
        try await AppStore(connection).add(name) { app in
            app.topic = topic
            app.credential = name
            app.gateway = "localhost:\(gateway.port)"
            app.channelGateway = gateway.channelPort.map { "localhost:\($0)" }
            app.gatewayCA = gateway.rootPEM
        }
    }

    // MARK: Enqueueing

    private static let register = Statement(
        "demo_register",
        """
        INSERT INTO carillon.tokens (app_id, token, last_update)
        SELECT a.id, t.token, now() - interval '\(DemoPlan.registeredDaysAgo) days'
        FROM carillon.apps a, unnest($1) t (token) WHERE a.name = 'demo'
        """
    )
    private static let insert = Statement(
        "demo_insert",
        """
        INSERT INTO carillon.messages (app_id, tokens, payload)
        SELECT a.id, ARRAY[t.token], '{"aps":{"alert":"Good morning from a plain INSERT"}}'
        FROM carillon.apps a, unnest($1) t (token) WHERE a.name = 'demo'
        """
    )
    private static let enqueue = Statement(
        "demo_enqueue",
        "SELECT carillon.enqueue(app => 'demo', tokens => $1, alert => 'Good morning from carillon.enqueue', badge => 1)"
    )

    /// Registers every token and enqueues a push to it: half of them in rows of one token, half in lists.
    func enqueue(_ plan: DemoPlan) async throws -> (single: Int, lists: Int) {
        let tokens = plan.mixedTokens()
        for chunk in tokens.chunks(of: 20_000) { try await run(Self.register, on: chunk) }
        let single = tokens[..<(tokens.count / 2)]
        for chunk in single.chunks(of: 20_000) { try await run(Self.insert, on: chunk) }
        let lists = tokens[(tokens.count / 2)...].chunks(of: Self.tokensPerList)
        for list in lists { try await run(Self.enqueue, on: list) }
        return (single.count, lists.count)
    }

    private func run(_ statement: Statement, on tokens: ArraySlice<String>) async throws {
        try await connection.execute(statement, Parameters(PostgresArray(tokens)))
    }

    // MARK: The end

    private static let results = Statement(
        "demo_results",
        """
        SELECT coalesce(sum(sent), 0)::int8, coalesce(sum(failed), 0)::int8, coalesce(sum(expired), 0)::int8
        FROM carillon.results
        """
    )
    private static let failures = Statement(
        "demo_failures",
        "SELECT reason, count(*) FROM carillon.failures GROUP BY reason"
    )
    private static let reap = Statement("demo_reap", "SELECT carillon.reap()")
    private static let left = Statement(
        "demo_left",
        "SELECT (SELECT count(*) FROM carillon.tokens), (SELECT count(*) FROM carillon.pending)"
    )

    /// Runs the feedback pass, and reads the results.
    func recorded() async throws -> DemoAudit.Recorded {
        var recorded = DemoAudit.Recorded()
        (recorded.sent, recorded.failed, recorded.expired) = try await connection.query(Self.results) { rows in
            (Int(try rows.int64(0, 0)), Int(try rows.int64(0, 1)), Int(try rows.int64(0, 2)))
        }
        recorded.failuresByReason = try await connection.query(Self.failures) { rows in
            var counts: [String: Int] = [:]
            for row in rows.indices { counts[try rows.string(row, 0)] = Int(try rows.int64(row, 1)) }
            return counts
        }
        recorded.reaped = try await connection.query(Self.reap) { rows in Int(try rows.int64(0, 0)) }
        (recorded.tokensLeft, recorded.stillPending) = try await connection.query(Self.left) { rows in
            (Int(try rows.int64(0, 0)), Int(try rows.int64(0, 1)))
        }
        return recorded
    }
}

extension Collection where Index == Int {
    /// Slices of that length; the last may be shorter.
    func chunks(of length: Int) -> [SubSequence] {
        stride(from: startIndex, to: endIndex, by: length).map { self[$0..<Swift.min($0 + length, endIndex)] }
    }
}
