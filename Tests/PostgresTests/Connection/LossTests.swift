import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Lives on the loop of the connections, and steps in between their steps.
private actor Bystander {
    nonisolated var unownedExecutor: UnownedSerialExecutor { TestLoop.shared.asUnownedSerialExecutor() }
    private(set) var results: [Swift::Result<Int, any Error>] = []

    /// Sends a statement, and closes the connection so many steps later.
    func ask(_ victim: PostgresConnection, closingAfter steps: Int) async {
        let question = Task { try await victim.execute(Statement("tick", "SELECT 1")) }
        Task { results.append(await question.result) }
        for _ in 0..<steps { await Task.yield() }
        await victim.close()
    }
}

@Suite struct LossTests {
    private static let lock = Statement("lock", "SELECT pg_advisory_lock(1)")
    private static let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1"
    private static let kill = Statement("kill", "SELECT pg_terminate_backend($1)")

    private static func process(_ connection: PostgresConnection) -> Parameters {
        Parameters(connection.backendProcessID)
    }

    /// Has the first connection wait for a lock that the second holds, with a hundred statements behind it, lets the
    /// body break it, and gives all their errors.
    private static func errorsAfterLosing(
        _ victim: PostgresConnection,
        beside other: PostgresConnection,
        by breaking: () async throws -> Void
    ) async throws -> [PostgresError] {
        try await other.execute(Self.lock)
        let tasks = (0...100).map { _ in Task { try await victim.execute(Self.lock) } }
        try await TestLoop.shared.eventually("the first statement waits") {
            try await other.number(Self.waiting, Self.process(victim)) == 1
        }
        try await breaking()
        var errors: [PostgresError] = []
        for task in tasks {
            do {
                _ = try await task.value
            } catch let error as PostgresError {
                errors.append(error)
            }
        }
        return errors
    }

    @Test func `when it is terminated, what was sent is unknown and what was not is known`() async throws {
        try await TestDatabase.connected(.nothing) { other, url in
            let victim = try await PostgresConnection.connect(url, application: "victim")
            let errors = try await Self.errorsAfterLosing(victim, beside: other) {
                try await other.execute(Self.kill, Self.process(victim))
            }
            let isOfThisLoss = errors.allSatisfy { $0.code == .closed && $0.statement == "lock" }
            let unknown = errors.filter { $0.effect == .unknown }
            let terminated = errors.filter { $0.sqlState == "57P01" }
            let unsent = errors.filter { $0.effect == .nothingDone && $0.message.contains("was not sent") }
            #expect(errors.count == 101 && isOfThisLoss)
            #expect((unknown.count, terminated.count, unsent.count) == (64, 1, 37))
            #expect(await victim.isClosed)
            let late = await #expect(throws: PostgresError.self) { try await victim.execute(Self.lock) }
            #expect(late?.effect == .nothingDone)
        }
    }

    @Test func `a session ends when the server stops at once, and a new one works after its restart`() async throws {
        let cluster = try await PrivateCluster.start(.fast, on: TestLoop.shared)
        let first = try await PostgresConnection.connect(cluster.url(), application: "first")
        let second = try await PostgresConnection.connect(cluster.url(), application: "second")
        try await first.script("SET synchronous_commit = on; CREATE TABLE kept (id int)")
        let errors = try await Self.errorsAfterLosing(first, beside: second) { try await cluster.restart(.immediate) }
        let codes = Set(errors.map(\.code))
        #expect(errors.count == 101 && codes == [.closed])
        let third = try await PostgresConnection.connect(cluster.url(), application: "third")
        #expect(try await third.number("SELECT count(*) FROM kept") == 0)
        await third.close()
        await cluster.stop()
        let error = await #expect(throws: PostgresError.self) {
            try await PostgresConnection.connect(cluster.url(), application: "fourth")
        }
        #expect(error?.code == .unreachable)
    }

    @Test func `when we close it, what was sent is unknown`() async throws {
        try await TestDatabase.connected(.nothing) { other, url in
            let victim = try await PostgresConnection.connect(url, application: "victim")
            let errors = try await Self.errorsAfterLosing(victim, beside: other) { await victim.close() }
            let unknown = errors.filter { $0.effect == .unknown }
            #expect((errors.count, unknown.count) == (101, 64))
        }
    }

    @Test func `when we close it while a statement is on its way to it, that ends too`() async throws {
        let bystander = Bystander()
        try await TestDatabase.unconnected(.nothing) { url in
            for steps in 0..<12 {
                let victim = try await PostgresConnection.connect(url, application: "victim")
                await bystander.ask(victim, closingAfter: steps)
                try await TestLoop.shared.eventually("the statement ended, closed after \(steps) steps") {
                    await bystander.results.count > steps
                }
            }
        }
        for case .failure(let error) in await bystander.results {
            #expect((error as? PostgresError)?.code == .closed)
        }
    }

    @Test func `a statement that had failed before the loss has failed`() async throws {
        try await TestDatabase.connected(.nothing) { other, url in
            let victim = try await PostgresConnection.connect(url, application: "victim")
            let error = await #expect(throws: PostgresError.self) {
                try await victim.execute(Statement("bad", "SELECT 1 / 0"))
            }
            #expect(error?.effect == .nothingDone)
            try await other.execute(Self.kill, Self.process(victim))
            // Idle, it notices by itself.
            while await !victim.isClosed { _ = try await other.execute(Statement("tick", "SELECT 1")) }
        }
    }
}
