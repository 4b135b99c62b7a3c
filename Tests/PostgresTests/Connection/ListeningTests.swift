import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@Suite struct ListeningTests {
    private static let busy = Statement("busy", "SELECT count(*)::int8 FROM generate_series(1, 100)")

    @Test
    func `a notification calls the listener of an idle session, and of one with statements under way`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            let calls = Guarded(0)
            try await connection.listen(to: "carillon_test") { calls.withLock { $0 += 1 } }
            let other = try await PostgresConnection.connect(url, application: "other")
            try await other.script("NOTIFY carillon_test")
            try await TestLoop.shared.eventually("the idle session hears") { calls.withLock { $0 } == 1 }
            for round in 2...20 {
                async let answers: Void = withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<50 {
                        group.addTask { _ = try await connection.query(Self.busy) { try $0.int64(0, 0) } }
                    }
                    try await group.waitForAll()
                }
                try await other.script("NOTIFY carillon_test")
                try await answers
                try await TestLoop.shared.eventually("the busy session hears") { calls.withLock { $0 } == round }
            }
            // Another channel, and a transaction that is rolled back.
            try await other.script("NOTIFY another; BEGIN; NOTIFY carillon_test; ROLLBACK")
            try await other.script("NOTIFY carillon_test")
            try await TestLoop.shared.eventually("the listener hears what is committed") { calls.withLock { $0 } == 21 }
            await other.close()
        }
    }

    @Test func `the end of the session calls the listener once`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            let calls = Guarded(0)
            let session = try await PostgresConnection.connect(url, application: "session")
            try await session.listen(to: "carillon_test") { calls.withLock { $0 += 1 } }
            let kill = Statement("kill", "SELECT pg_terminate_backend($1::int4)")
            try await connection.execute(kill, Parameters(session.backendProcessID))
            try await TestLoop.shared.eventually("the listener is told") { calls.withLock { $0 } == 1 }
            #expect(await session.isClosed)
            await session.close()
            #expect(calls.withLock { $0 } == 1)
        }
    }
}
