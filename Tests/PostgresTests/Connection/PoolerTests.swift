import CarillonPostgres
import TestSupport
import Testing

/// Behind a pooler in transaction mode every statement may be done by another process of the server.
@Suite(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
struct PoolerTests {
    private static let size = 2
    private static let double = Statement("double", "SELECT 2 * $1::int8")
    private static let divide = Statement("divide", "SELECT 10 / $1::int4")
    private static let length = Statement("length", "SELECT length($1::text), current_setting('enable_seqscan')")
    private static let scans = Statement("scans", "SELECT current_setting('enable_seqscan')")

    private static func with(_ body: (_ url: String, _ direct: String) async throws -> Void) async throws {
        try await TestDatabase.unconnected(.nothing) { direct in
            let cluster = try await TestCluster.shared
            let name = try #require(direct.split(separator: "?").first?.split(separator: "/").last)
            try await TestPooler.with(size: size, before: cluster, on: TestLoop.shared) { pooler in
                try await body(pooler.url(database: String(name)), direct)
            }
        }
    }

    private static func connect(_ url: String, _ settings: SessionSettings = [:]) async throws -> PostgresConnection {
        try await PostgresConnection.connect(url, to: .writable, settings: settings)
    }

    @Test func `a connection recognizes a pooler`() async throws {
        try await Self.with { url, direct in
            let (first, second) = (try await Self.connect(url), try await Self.connect(direct))
            let answers = (await first.isPooled, await second.isPooled)
            #expect(answers == (true, false))
            await first.close()
            await second.close()
        }
    }

    @Test func `many connections share few processes, each statement with its own answer`() async throws {
        try await Self.with { url, _ in
            var connections: [PostgresConnection] = []
            for _ in 0..<6 { connections.append(try await Self.connect(url, ["enable_seqscan": "off"])) }
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for (index, connection) in connections.enumerated() {
                    for value in 0..<200 {
                        group.addTask {
                            let parameters = Parameters(Int64(value * 6 + index))
                            return try await connection.query(Self.double, parameters) {
                                try $0.int64(0, 0) != 2 * Int64(value * 6 + index)
                            }
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(wrong == 0)
            for connection in connections { await connection.close() }
        }
    }

    /// PgBouncer 1.18 gives a server process away when it has sent an answer, also where the next statement of the
    /// connection has come to it in part: the rest then goes to another process.
    @Test func `long statements that are asked for together stay whole`() async throws {
        try await Self.with { url, _ in
            var connections: [PostgresConnection] = []
            for _ in 0..<4 { connections.append(try await Self.connect(url, ["enable_seqscan": "off"])) }
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for connection in connections {
                    for length in 0..<100 {
                        group.addTask {
                            let parameters = Parameters(String(repeating: "x", count: 200_000 + length))
                            return try await connection.query(Self.length, parameters) {
                                try $0.int32(0, 0) != 200_000 + length || $0.string(0, 1) != "off"
                            }
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(wrong == 0)
            for connection in connections { await connection.close() }
        }
    }

    @Test func `settings apply to every statement, and to no other client`() async throws {
        try await Self.with { url, direct in
            let ours = try await Self.connect(url, ["enable_seqscan": "off", "TimeZone": "Asia/Tokyo"])
            let others = try await Self.connect(url)
            let alone = try await Self.connect(direct, ["enable_seqscan": "off"])
            for _ in 0..<20 {
                #expect(try await ours.query(Self.scans) { try $0.string(0, 0) } == "off")
                #expect(try await others.query(Self.scans) { try $0.string(0, 0) } == "on")
                #expect(try await alone.query(Self.scans) { try $0.string(0, 0) } == "off")
            }
            for connection in [ours, others, alone] { await connection.close() }
        }
    }

    @Test func `an error harms no other statement in flight`() async throws {
        try await Self.with { url, _ in
            let connection = try await Self.connect(url, ["enable_seqscan": "off"])
            let states = await withTaskGroup(of: (Int32, String?).self) { group in
                for value in 0..<60 as Range<Int32> {
                    group.addTask {
                        let parameters = Parameters(value % 3)
                        do {
                            try await connection.execute(Self.divide, parameters)
                            return (value, nil)
                        } catch {
                            return (value, (error as? PostgresError)?.sqlState)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (value, state) in states { #expect(state == (value % 3 == 0 ? "22012" : nil)) }
            await connection.close()
        }
    }

    @Test func `a transaction keeps its process, and a script is one`() async throws {
        try await Self.with { url, _ in
            let connection = try await Self.connect(url, ["enable_seqscan": "off"])
            try await connection.script("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
            let failed = await #expect(throws: PostgresError.self) {
                try await connection.transaction {
                    try await connection.execute(Statement("more", "INSERT INTO t VALUES (2)"))
                    try await connection.execute(Statement("bad", "SELECT 1 / 0"))
                }
            }
            #expect(failed?.sqlState == "22012")
            #expect(try await connection.number("SELECT count(*) FROM t") == 1)
            await connection.close()
        }
    }

    @Test
    func `a login that fails behind the pooler is reported as that, and not as a statement with an unknown outcome`()
        async throws
    {
        try await Self.with { url, direct in
            let database = try #require(direct.split(separator: "?").first?.split(separator: "/").last)
            let first = try await Self.connect(url)
            let above = try await PostgresConnection.connect(try await TestCluster.shared.url())
            try await above.script(
                """
                ALTER DATABASE \(database) ALLOW_CONNECTIONS false;
                SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.datname = '\(database)'
                """
            )
            await above.close()
            // PgBouncer may not have seen yet that its processes have ended. Each that it still gives away tells of
            // its own end, which says nothing of the login: there are no more of them than the pool has places.
            var text = ""
            for _ in 0...Self.size {
                let error = await #expect(throws: PostgresError.self) {
                    try await Self.connect(url + "?connect_timeout=2")
                }
                text = "\(try #require(error))"
                #expect(error?.effect == .nothingDone && !text.contains("statement"), "\(text)")
                guard error?.sqlState == "57P01" else { break }
            }
            #expect(text.contains("did not answer within") || text.contains("not currently accepting"), "\(text)")
            await first.close()
        }
    }
}
