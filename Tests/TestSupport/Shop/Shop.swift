package import ApplePushSimulator
package import Testing

/// A database with an app in it that sends to a simulator, and the program to run on both.
package struct Shop: Sendable {
    package let gateway: APNsSimulator
    package let database: TestDatabase
    package let folder: TemporaryFolder

    @TaskLocal fileprivate static var current: Shop?

    package static let topic = "com.example.shop"

    /// - Parameters:
    ///   - address: where the app believes its gateway to be; by default where it is.
    ///   - root: whom the app trusts; by default the gateway's own authority.
    package static func with(
        _ configure: (inout SimulatorConfiguration) throws -> Void = { _ in },
        address: String? = nil,
        root: String? = nil,
        _ body: (Shop) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            try configure(&$0)
        } _: { gateway in
            try await TestDatabase.with(.schema) { database in
                try await database.connection.addApp("shop", topic: topic, to: gateway, gateway: address, root: root)
                try await TemporaryFolder.with { folder in
                    try await body(Shop(gateway: gateway, database: database, folder: folder))
                }
            }
        }
    }

    /// The same, with a gateway that answers by these rules.
    package static func with(answers rules: [String], _ body: (Shop) async throws -> Void) async throws {
        try await with({ $0.answers = try rules.map { try AnswerRule(parsing: $0) } }, body)
    }

    /// The same with another database.
    package func on(_ database: TestDatabase) -> Shop { Shop(gateway: gateway, database: database, folder: folder) }

    package func run(_ words: String...) async throws -> ProgramRun { try await run(words) }

    package func run(_ words: [String]) async throws -> ProgramRun {
        try await ProgramRun.run(words, environment: environment(for: words))
    }

    /// On a busy machine, an answer may be late, and must not count as unknown; and a command may have to wait for an outcome.
    private func environment(for words: [String]) -> [String: String] {
        let url = TestLogin.url(database.url, running: words)
        return ["DATABASE_URL": url, "CARILLON_REQUEST_TIMEOUT": "60s", "CARILLON_WAIT": "2m"]
    }

    /// Runs a worker that sends what is due. On a busy machine, connecting to the gateway may take longer than the five seconds
    /// that a worker has for it: it then leaves the pushes in the queue, exits with 69, and is run again.
    package func drain(_ words: String...) async throws -> ProgramRun {
        let words = ["worker", "--once"] + words
        var last = try await run(words)
        for _ in 0..<5 where last.status == 69 { last = try await run(words) }
        return last
    }

    /// Leaves the program running; tests read its standard error.
    package func start(_ words: String...) throws -> BackgroundProgram {
        try BackgroundProgram(words, environment: environment(for: words), in: folder)
    }

    /// A token with that prefix.
    package static func token(_ digits: String) -> String {
        digits + String(repeating: "0", count: 64 - digits.count)
    }

    /// Enqueues one push to each of so many tokens, in one row each.
    package func enqueue(_ count: Int) async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT a.id, ARRAY[lpad(to_hex(n), 64, '0')], '{"aps":{"alert":"hi"}}'
            FROM carillon.apps a, generate_series(1, \(count)) n
            """
        )
    }
}

extension Trait where Self == TestScope<Shop> {
    /// For ``shop``.
    package static var shop: Self {
        Self(Shop.$current) { body in try await Shop.with { shop in try await body(shop) } }
    }
}

/// The shop of a test that has the trait `.shop`.
package var shop: Shop { TestScope.value(of: Shop.$current) }
