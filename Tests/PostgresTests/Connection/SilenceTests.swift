import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Servers that answer nothing, although the kernel acknowledges what they are sent.
@Suite struct SilenceTests {
    private static let lock = Statement("test_lock", "SELECT pg_advisory_xact_lock(4712)")

    private static func connect(_ source: DatabaseSource, _ silence: SilencePolicy) async throws -> PostgresConnection {
        try await PostgresConnection.connect(
            source,
            on: TestLoop.shared,
            application: "test silence",
            timeout: .seconds(60),
            silence: silence
        )
    }

    /// A session through a proxy, with a statement that waits for a lock of another session.
    private static func waiting(
        _ silence: SilencePolicy,
        _ body: (TestDatabase, Proxy, PostgresConnection, DatabaseSource, Task<Int, any Error>) async throws -> Void
    ) async throws {
        try await TestDatabase.with(.nothing) { database in
            try await database.withProxy(on: TestLoop.shared) { proxy, url in
                let source = DatabaseSource(url)
                let connection = try await connect(source, silence)
                try await attempt {
                    try await database.run("SELECT pg_advisory_lock(4712)")
                    let statement = Task<Int, any Error> { try await connection.execute(lock) }
                    try await TestLoop.shared.eventually("the statement waits") {
                        try await database.waitsForLock(as: "test silence")
                    }
                    try await body(database, proxy, connection, source, statement)
                } finally: {
                    await connection.close()
                }
            }
        }
    }

    @Test
    func `a session with a limit ends when nothing comes for that time, and its host is tried last`() async throws {
        try await Self.waiting(.end(after: .seconds(8))) { _, proxy, connection, source, statement in
            await proxy.freeze()
            let error = await #expect(throws: PostgresError.self) { try await statement.value }
            #expect(error?.code == .closed && error?.effect == .unknown && error?.isSilence == true)
            #expect(error?.description.contains("127.0.0.1:\(await proxy.port) answered nothing for 8.0 s") == true)
            #expect(error?.description.contains("hangs") == true, "\(String(describing: error))")
            #expect(await connection.isClosed)
            #expect(source.silentHost.server == connection.server)
        }
    }

    @Test func `a session whose host answers a new connection waits for its statement, and one with its host ends`()
        async throws
    {
        try await Self.waiting(.endWithHost) { database, proxy, connection, source, statement in
            let before = await proxy.connections
            try await TestLoop.shared.eventually("the host is asked twice") { await proxy.connections >= before + 2 }
            #expect(await !connection.isClosed)
            await proxy.freeze()
            let error = await #expect(throws: PostgresError.self) { try await statement.value }
            #expect(error?.isSilence == true && error?.effect == .unknown)
            #expect(source.silentHost.server == connection.server)
        }
    }

    @Test func `a session that waits leaves a server once another session has found it silent`() async throws {
        try await Self.waiting(.end(after: .seconds(20))) { database, proxy, connection, source, statement in
            await proxy.freeze()
            let start = MonotonicInstant.now
            // As a worker would that has just found out: what was found before this session was silent says nothing about it.
            try await TestLoop.shared.eventually("the session has left it") {
                source.silentHost.left(connection.server)
                return await connection.isClosed
            }
            let other = await #expect(throws: PostgresError.self) { try await statement.value }
            #expect(other?.isSilence == true && MonotonicInstant.now - start < .seconds(15))
        }
    }

    @Test func `a refusal is a sign of life`() async throws {
        try await Self.waiting(.endWithHost) { database, proxy, connection, _, statement in
            await proxy.refuse()
            let start = MonotonicInstant.now
            try await TestLoop.shared.eventually("the time for a silent host is over") {
                MonotonicInstant.now - start > .seconds(23)
            }
            #expect(await !connection.isClosed)
            try await database.run("SELECT pg_advisory_unlock(4712)")
            #expect(try await statement.value == 1)
        }
    }

    @Test func `statements that are answered in turn may take longer together than the limit`() async throws {
        try await TestDatabase.with(.nothing) { database in
            try await database.withProxy(on: TestLoop.shared) { proxy, url in
                await proxy.delay(by: .milliseconds(300))
                let connection = try await Self.connect(DatabaseSource(url), .end(after: .seconds(8)))
                let start = MonotonicInstant.now
                while MonotonicInstant.now - start < .seconds(12) {
                    #expect(try await connection.number("SELECT 1") == 1)
                }
                await connection.close()
            }
        }
    }

    @Test(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
    func `a pooler that has no other connection to the server answers for its host`() async throws {
        try await TestDatabase.with(.nothing) { database in
            let name = try #require(try await database.value("current_database()"))
            try await TestPooler.with(size: 1, before: try await TestCluster.shared, on: TestLoop.shared) { pooler in
                let connection = try await Self.connect(DatabaseSource(pooler.url(database: name)), .endWithHost)
                try await database.run("SELECT pg_advisory_lock(4712)")
                async let statement = connection.execute(Self.lock)
                let start = MonotonicInstant.now
                try await TestLoop.shared.eventually("the time for a silent host is over") {
                    MonotonicInstant.now - start > .seconds(23)
                }
                try await database.run("SELECT pg_advisory_unlock(4712)")
                #expect(try await statement == 1)
                await connection.close()
            }
        }
    }
}
