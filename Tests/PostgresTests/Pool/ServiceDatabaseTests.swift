import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@Suite struct ServiceDatabaseTests {
    private static let wait = Statement("test_wait", "SELECT pg_advisory_xact_lock(4711)")
    private static let count = Statement("test_count", "INSERT INTO done SELECT count(*) FROM done")
    private static let blocked =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = "
        + "(SELECT oid FROM pg_database WHERE datname = current_database())"

    /// A call on the only connection waits for a lock until its time limit, and another one comes meanwhile.
    private func call(
        behindSlow longestWait: Duration?,
        _ body: (TestDatabase, Result<Void, any Error>) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.nothing) { database in
            try await TestLoop.with { loop in
                let group = ServiceDatabase.Group(
                    name: "one",
                    connections: 1,
                    settings: ["lock_timeout": "3s"],
                    longestWait: longestWait
                )
                let source = DatabaseSource(database.url)
                let service = ServiceDatabase(source, application: "test", groups: [group], loop: loop) {
                    Issue.record("\($0)")
                }
                try await attempt {
                    try await database.run("CREATE TABLE done (place bigint); SELECT pg_advisory_lock(4711)")
                    let slow = Task { try await service.query(Self.wait, Parameters(), group) { _ in } }
                    try await loop.eventually("the first call waits") { try await database.number(Self.blocked) == 1 }
                    let second: Result<Void, any Error>
                    do {
                        second = .success(try await service.query(Self.count, Parameters(), group) { _ in })
                    } catch {
                        second = .failure(error)
                    }
                    let error = await #expect(throws: PostgresError.self) { try await slow.value }
                    #expect(error?.sqlState == SQLState.lockNotAvailable)
                    try await body(database, second)
                    // The connection is as it was.
                    try await service.query(Self.count, Parameters(), group) { _ in }
                } finally: {
                    await service.close()
                }
            }
        }
    }

    @Test func `a call that has waited too long for its turn is not sent, and says so`() async throws {
        try await call(behindSlow: .zero) { database, second async throws in
            let error = #expect(throws: PostgresError.self) { try second.get() }
            #expect(error?.code == .busy && error?.isTransient == true)
            #expect(try await database.number("SELECT count(*) FROM done") == 0)
        }
    }

    @Test(arguments: [nil, .seconds(60)] as [Duration?])
    func `without a limit, or within it, a call is done after those before it`(longestWait: Duration?) async throws {
        try await call(behindSlow: longestWait) { database, second async throws in
            try second.get()
            #expect(try await database.number("SELECT count(*) FROM done") == 1)
        }
    }
}
