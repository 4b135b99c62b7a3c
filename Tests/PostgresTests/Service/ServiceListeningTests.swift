import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Services whose connections also hear notifications.
@Suite struct ServiceListeningTests {
    private static let group = ServiceDatabase.Group(
        name: "two",
        connections: 2,
        statementTimeout: .seconds(60),
        settings: [:],
        longestWait: .seconds(60)
    )
    private static let one = Statement("test_one", "SELECT 1")
    private static let sessions =
        "FROM pg_stat_activity WHERE application_name = 'test ears' AND datname = current_database()"

    private static func with(
        at url: String,
        _ body: (ServiceRunner, _ listen: () async throws -> Bool, _ heard: () -> Int) async throws -> Void
    ) async throws {
        let heard = Guarded(0)
        try await TestLoop.with { loop in
            let service = ServiceDatabase(DatabaseSource(url), application: "test ears", groups: [group], loop: loop) {
                Issue.record("\($0)")
            }
            let runner = ServiceRunner(service, group)
            try await attempt {
                try await body(
                    runner,
                    { try await runner.listen(to: "test_ears") { heard.withLock { $0 += 1 } } },
                    { heard.withLock { $0 } }
                )
            } finally: {
                await service.close()
            }
        }
    }

    @Test func `one connection listens beside its calls, and another one after it is lost`() async throws {
        try await TestDatabase.with(.nothing) { database in
            try await Self.with(at: database.url) { runner, listen, heard in
                for _ in 1...3 { #expect(try await listen()) }
                #expect(try await database.number("SELECT count(*) \(Self.sessions)") == 1)
                try await database.run("NOTIFY test_ears")
                try await TestLoop.shared.eventually("it is heard") { heard() == 1 }
                try await runner.query(Self.one) { _ in }
                try await database.run("NOTIFY test_ears")
                try await TestLoop.shared.eventually("it is heard after a call") { heard() == 2 }
                try await database.run("SELECT pg_terminate_backend(pid) \(Self.sessions)")
                try await TestLoop.shared.eventually("the loss is told") { heard() == 3 }
                #expect(try await listen())
                try await database.run("NOTIFY test_ears")
                try await TestLoop.shared.eventually("it is heard again") { heard() == 4 }
            }
        }
    }

    @Test(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `behind a pooler, nothing listens`() async throws {
        try await TestDatabase.unconnected(.nothing) { direct in
            let name = try #require(direct.split(separator: "?").first?.split(separator: "/").last)
            try await TestPooler.with(size: 1, before: try await TestCluster.shared, on: TestLoop.shared) { pooler in
                try await Self.with(at: pooler.url(database: String(name))) { runner, listen, _ in
                    #expect(try await listen() == false)
                    try await runner.query(Self.one) { _ in }
                }
            }
        }
    }

    private static let wait = Statement("test_wait", "SELECT pg_advisory_xact_lock(4714)")
    private static let waiting =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = "
        + "(SELECT oid FROM pg_database WHERE datname = current_database())"

    @Test func `two kinds of calls share a connection, and neither uses up the other's`() async throws {
        let group = ServiceDatabase.Group(
            name: "three",
            connections: 3,
            statementTimeout: .seconds(60),
            settings: [:],
            longestWait: .seconds(60)
        )
        try await TestDatabase.with(.nothing) { database in
            try await TestLoop.with { loop in
                let service = ServiceDatabase(
                    DatabaseSource(database.url),
                    application: "test ears",
                    groups: [group],
                    loop: loop
                ) { Issue.record("\($0)") }
                try await attempt {
                    try await database.run("SELECT pg_advisory_lock(4714)")
                    let first = ServiceRunner(service, group, on: [0, 1])
                    let second = ServiceRunner(service, group, on: [2, 1])
                    let slow = (1...6).map { _ in Task { try await first.query(Self.wait) { _ in } } }
                    try await loop.eventually("they have two connections") {
                        try await database.number(Self.waiting) == 2
                    }
                    for _ in 1...3 { try await second.query(Self.one) { _ in } }
                    #expect(try await database.number("SELECT count(*) \(Self.sessions)") == 3)
                    try await database.run("SELECT pg_advisory_unlock(4714)")
                    for call in slow { try await call.value }
                } finally: {
                    await service.close()
                }
            }
        }
    }
}
