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
    private static let sessions =
        "SELECT count(*) FROM pg_stat_activity "
        + "WHERE datname = current_database() AND application_name = 'test ending'"

    /// A service of which no event is expected, on a loop of its own.
    private static func with(
        _ group: ServiceDatabase.Group,
        at url: String,
        application: String = "test",
        _ body: (ServiceDatabase, EventLoop) async throws -> Void
    ) async throws {
        try await TestLoop.with { loop in
            let source = DatabaseSource(url)
            let service = ServiceDatabase(source, application: application, groups: [group], loop: loop) {
                Issue.record("\($0)")
            }
            try await attempt {
                try await body(service, loop)
            } finally: {
                await service.close()
            }
        }
    }

    /// A call on the only connection waits for a lock until its time limit, and another one comes meanwhile.
    private func call(
        behindSlow longestWait: Duration?,
        _ body: (TestDatabase, Result<Void, any Error>) async throws -> Void
    ) async throws {
        let group = ServiceDatabase.Group(
            name: "one",
            connections: 1,
            statementTimeout: .seconds(60),
            settings: ["lock_timeout": "8s"],
            longestWait: longestWait
        )
        try await TestDatabase.with(.nothing) { database in
            try await Self.with(group, at: database.url) { service, loop in
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

    @Test func `after the end, a call opens no connection`() async throws {
        let group = ServiceDatabase.Group(name: "one", connections: 1, statementTimeout: .seconds(60), settings: [:])
        try await TestDatabase.with(.nothing) { database in
            try await Self.with(group, at: database.url) { service, _ in
                try await service.query(Self.one, Parameters(), group) { _ in }
                await service.close()
                let error = await #expect(throws: PostgresError.self) {
                    try await service.query(Self.one, Parameters(), group) { _ in }
                }
                #expect(error?.code == .closed && error?.effect == .nothingDone)
            }
        }
    }

    @Test func `the end waits for a connection that is being opened, and leaves none open`() async throws {
        let group = ServiceDatabase.Group(
            name: "two",
            connections: 2,
            statementTimeout: .seconds(60),
            settings: [:],
            connectionTimeout: .seconds(60)
        )
        try await TestDatabase.with(.nothing) { database in
            try await TestLoop.with { loop in
                try await database.withProxy(on: loop) { proxy, url in
                    let service = ServiceDatabase(
                        DatabaseSource(url),
                        application: "test ending",
                        groups: [group],
                        loop: loop
                    ) { Issue.record("\($0)") }
                    try await attempt {
                        try await database.run("SELECT pg_advisory_lock(4711)")
                        let open = Task { try await service.query(Self.wait, Parameters(), group) { _ in } }
                        try await loop.eventually("the first call waits") {
                            try await database.number(Self.blocked) == 1
                        }
                        await proxy.freeze()
                        let opening = Task { try await service.query(Self.one, Parameters(), group) { _ in } }
                        try await loop.eventually("the second call connects") { await proxy.connections == 2 }
                        let end = Task { await service.close() }
                        // It has begun once the first connection is closed.
                        let first = await #expect(throws: PostgresError.self) { try await open.value }
                        #expect(first?.code == .closed)
                        await proxy.thaw()
                        let second = await #expect(throws: PostgresError.self) { try await opening.value }
                        #expect(second?.code == .closed && second?.effect == .nothingDone)
                        await end.value
                        try await database.run("SELECT pg_advisory_unlock(4711)")
                        try await loop.eventually("no session is left") {
                            try await database.number(Self.sessions) == 0
                        }
                    } finally: {
                        await proxy.thaw()
                        await service.close()
                    }
                }
            }
        }
    }

    // MARK: Silence

    private static let one = Statement("test_one", "SELECT 1")
    private static let shared = Statement("test_shared", "SELECT pg_advisory_xact_lock_shared(4713)")

    /// A service whose first host is a proxy and whose second is the database, each of its connections open to the first.
    private func service(
        isReading: Bool,
        _ body: (Proxy, _ ask: @escaping @Sendable () async throws -> Void, _ events: () -> [String]) async throws ->
            Void
    ) async throws {
        let events = Guarded<[String]>([])
        let group = ServiceDatabase.Group(
            name: "three",
            connections: 3,
            statementTimeout: .seconds(8),
            settings: [:],
            isReading: isReading
        )
        try await TestDatabase.with(.nothing) { database in
            try await TestLoop.with { loop in
                try await database.withProxy(hasSecond: true, on: loop) { proxy, url in
                    let service = ServiceDatabase(DatabaseSource(url), application: "test", groups: [group], loop: loop)
                    {
                        event in
                        events.withLock { $0.append("\(event)") }
                    }
                    try await attempt {
                        try await database.run("SELECT pg_advisory_lock(4713)")
                        async let calls: [Void] = withThrowingTaskGroup { tasks in
                            for _ in 0..<3 {
                                tasks.addTask { try await service.query(Self.shared, Parameters(), group) { _ in } }
                            }
                            return try await tasks.reduce(into: []) { $0.append($1) }
                        }
                        try await loop.eventually("each connection is open") { await proxy.connections == 3 }
                        try await database.run("SELECT pg_advisory_unlock(4713)")
                        _ = try await calls
                        try await body(
                            proxy,
                            { try await service.query(Self.one, Parameters(), group) { _ in } },
                            { events.withLock { $0 } }
                        )
                    } finally: {
                        await service.close()
                    }
                }
            }
        }
    }

    @Test
    func `a silent server is left at once by all connections, and a question is asked again elsewhere`() async throws {
        try await service(isReading: true) { proxy, ask, events in
            await proxy.freeze()
            try await ask()
            #expect(events().count == 2 && events().first?.contains("answered nothing for 10") == true, "\(events())")
            #expect(events().last == "back")
            for _ in 0..<6 { try await ask() }
            #expect(events().count == 2, "\(events())")
            #expect(await proxy.connections == 3)
        }
    }

    @Test func `a statement that may have been carried out is not repeated, and the next goes to another host`()
        async throws
    {
        try await service(isReading: false) { proxy, ask, events in
            await proxy.freeze()
            let error = await #expect(throws: PostgresError.self) { try await ask() }
            #expect(error?.effect == .unknown && error?.isSilence == true)
            try await ask()
            #expect(events().count == 2, "\(events())")
        }
    }

    @Test func `statements of each connection to a silent server say once what became of them`() async throws {
        try await service(isReading: false) { proxy, ask, events in
            await proxy.freeze()
            let errors = await withTaskGroup(of: (any Error)?.self) { tasks in
                for _ in 0..<3 {
                    tasks.addTask {
                        do {
                            try await ask()
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
                return await tasks.reduce(into: []) { $0.append($1) }
            }
            let messages = errors.compactMap { ($0 as? PostgresError)?.message }
            #expect(messages.count == 3 && Set(messages).count == 1, "\(messages)")
            #expect(messages.allSatisfy { $0.hasSuffix("closed; whether the statement was carried out is unknown") })
            #expect(events().first?.contains("whether the statement") == false, "\(events())")
        }
    }
}
