import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonTLS
import TestSupport
import Testing

/// A migrated database with an app in it, and workers to let loose on it.
struct TestQueue: Sendable {
    let database: TestDatabase
    let loop: EventLoop

    @TaskLocal fileprivate static var current: TestQueue?

    static func with<R>(_ body: (TestQueue) async throws -> R) async throws -> R {
        try await TestDatabase.with(.schema) { database in
            try await TestLoop.with { loop in
                let queue = TestQueue(database: database, loop: loop)
                try await queue.addApp("app", topic: "org.example.app")
                return try await body(queue)
            }
        }
    }

    func addApp(_ name: String, topic: String) async throws {
        let (certificate, key) = try Self.identity.get()
        try await addApp(name, topic: topic, gateway: "localhost:1", authority: nil, credential: certificate + key)
    }

    func addApp(_ name: String, topic: String, gateway: String, authority: String?, credential: String) async throws {
        let parameters = Parameters(name, topic, gateway, credential, authority)
        try await database.connection.execute(
            Statement(
                "add_app",
                """
                WITH c AS (INSERT INTO carillon.certificates (name, certificate) VALUES ($1, $4) RETURNING id)
                INSERT INTO carillon.apps (name, topic, gateway, gateway_ca, certificate_id)
                SELECT $1, $2, $3, $5, c.id FROM c
                """
            ),
            parameters
        )
    }

    /// The certificate is for every topic that the tests send to.
    private static let identity = Swift.Result {
        let endings = Set(PushType.all.map(\.topicSuffix))
        return try CertificateAuthority(name: "Test authority").issue(
            commonName: "Push",
            topics: ["org.example.app", "org.example.other", "com.example.acme"].flatMap { app in
                endings.map { app + $0 }
            }
        )
    }

    // MARK: Messages

    /// Inserts messages for so many device tokens each. A token ends with its message's number, times 10,000, plus its place.
    func fill(app: Int = 1, rows: Int, tokens: Int = 1, prefix: String = "") async throws {
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT \(app), ARRAY(
                    SELECT '\(prefix)' || lpad(to_hex(m * 10000 + t), \(64 - prefix.count), '0')
                    FROM generate_series(1, \(tokens)) AS t
                ), ('{"aps":{"alert":"Number ' || m || '"}}')::json
            FROM generate_series(1, \(rows)) AS m
            """
        )
    }

    // MARK: Workers

    var options: WorkerOptions {
        var options = WorkerOptions()
        options.database = DatabaseSource(TestLogin.worker.url(database.url))
        options.name = "test"
        // Full jitter may mean at once: a day makes that too unlikely to be seen.
        options.retry = RetryPolicy(base: .seconds(86400), cap: .seconds(86400))
        return options
    }

    func worker(
        _ backend: any Backend,
        _ change: (inout WorkerOptions) -> Void = { _ in },
        events: @escaping @Sendable (WorkerEvent) -> Void = { _ in }
    ) -> Worker {
        var options = self.options
        change(&options)
        return Worker(options, backend: backend, loop: loop, events: events)
    }

    /// Runs a worker beside the body, which tells it to end. Should the body throw, the worker is given up: it does not
    /// outlive its test.
    func running(_ worker: Worker, _ body: () async throws -> Void) async throws -> Worker.Summary {
        let run = Task { try await worker.run() }
        do {
            try await body()
        } catch {
            worker.giveUp()
            _ = await run.result
            throw error
        }
        return try await run.value
    }

    /// Ends the sessions of all workers.
    func cutConnections() async throws {
        try await database.run(
            """
            SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.application_name LIKE 'carillon%'
            """
        )
    }

    /// Lets a worker do what is due, and nothing else.
    @discardableResult
    func drain(
        _ backend: any Backend = RecordedBackend(),
        _ change: (inout WorkerOptions) -> Void = { _ in }
    ) async throws -> Worker.Summary {
        try await worker(backend) { options in
            options.once = true
            change(&options)
        }.run()
    }
}

extension Trait where Self == TestScope<TestQueue> {
    /// For ``queue``.
    static var queue: Self { Self(TestQueue.$current, TestQueue.with) }
}

/// The queue of a test that has the trait `.queue`.
var queue: TestQueue { TestScope.value(of: TestQueue.$current) }
