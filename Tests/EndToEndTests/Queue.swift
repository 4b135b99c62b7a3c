import ApplePush
import IO
import Postgres
import PushQueue
import Synchronization
import TLS
import TestSupport

/// A migrated database with an app in it, and workers to let loose on it.
struct Queue: Sendable {
    let url: String
    let connection: PostgresConnection
    let loop: EventLoop
    private static let number = Atomic<Int>(0)

    static func with<R>(_ body: (Queue) async throws -> R) async throws -> R {
        try await TestDatabase.connected { connection, url in
            try await TestLoop.with { loop in
                _ = try await Migrator(connection).up()
                let queue = Queue(url: url, connection: connection, loop: loop)
                try await queue.addApp("app", topic: "org.example.app")
                return try await body(queue)
            }
        }
    }

    func addApp(_ name: String, topic: String) async throws {
        let (certificate, key) = try Self.identity.get()
        try await self.addApp(name, topic: topic, gateway: "localhost:1", authority: nil, credential: certificate + key)
    }

    func addApp(
        _ name: String,
        topic: String,
        gateway: String,
        authority: String?,
        credential: String
    ) async throws {
        var parameters = Parameters()
        parameters.append(name)
        parameters.append(topic)
        parameters.append(gateway)
        parameters.append(credential)
        parameters.append(authority)
        try await self.connection.execute(
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

    private static let identity = Swift.Result {
        try CertificateAuthority(name: "Test authority").issue(commonName: "Push", topics: ["org.example.app"])
    }

    // MARK: SQL

    func run(_ sql: String) async throws {
        try await self.connection.script(sql)
    }

    /// The rows as PostgreSQL writes them: (1,text,"two words").
    func rows(_ sql: String) async throws -> [String] {
        let statement = Statement(
            "query_\(Self.number.wrappingAdd(1, ordering: .relaxed).newValue)",
            "SELECT q::text FROM (\(sql)) AS q"
        )
        return try await self.connection.query(statement) { rows in try rows.indices.map { try rows.string($0, 0) } }
    }

    func number(_ sql: String) async throws -> Int64 {
        let statement = Statement(
            "number_\(Self.number.wrappingAdd(1, ordering: .relaxed).newValue)",
            "SELECT (\(sql))::bigint"
        )
        return try await self.connection.query(statement) { try $0.int64(0, 0) }
    }

    // MARK: Workers

    var options: WorkerOptions {
        var options = WorkerOptions()
        options.database = DatabaseSource(self.url)
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
        return Worker(options, backend: backend, loop: self.loop, events: events)
    }

    /// Runs a worker beside the body, which tells it to end. Should the body throw, the worker is given up: it does not
    /// outlive its test.
    func running(_ worker: Worker, _ body: () async throws -> Void) async throws -> WorkerReport {
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

    /// Lets a worker do what is due, and nothing else.
    @discardableResult
    func drain(
        _ backend: any Backend = RecordedBackend(),
        _ change: (inout WorkerOptions) -> Void = { _ in }
    ) async throws -> WorkerReport {
        try await self.worker(backend) { options in
            options.once = true
            change(&options)
        }.run()
    }
}
