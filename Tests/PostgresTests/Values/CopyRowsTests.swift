import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@Suite struct CopyRowsTests {
    private static let copy = "COPY t FROM STDIN"
    private static let tick = Statement("tick", "SELECT 1")

    private static func with(_ body: (PostgresConnection, _ other: PostgresConnection) async throws -> Void)
        async throws
    {
        try await TestDatabase.connected(.nothing) { other, url in
            try await other.script("CREATE TABLE t (n int8 CHECK (n >= 0), word text)")
            let connection = try await PostgresConnection.connect(url)
            try await attempt {
                try await body(connection, other)
            } finally: {
                await connection.close()
            }
        }
    }

    private static func waitForLock(_ connection: PostgresConnection, seenBy other: PostgresConnection) async throws {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = $1"
        try await TestLoop.shared.eventually("the copy waits") {
            try await other.number(waiting, Parameters(connection.backendProcessID)) == 1
        }
    }

    /// So many rows in the text format.
    private static func rows(_ count: Int) -> [UInt8] {
        (0..<count).reduce(into: []) { $0 += Array("\($1)\tword \($1)\n".utf8) }
    }

    @Test func `rows arrive, and the pipeline continues before and after`() async throws {
        try await Self.with { connection, _ in
            let rows = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await connection.execute(Self.tick) }
                    group.addTask { try await connection.copy(Self.copy, Self.rows(100)) }
                }
                return try await group.reduce(0, +)
            }
            #expect(rows == 20 + 20 * 100)
            #expect(try await connection.number("SELECT count(*) FROM t") == 2000)
            #expect(try await connection.copy(Self.copy, []) == 0)
            // No COPY at all is a script.
            try await connection.copy("DELETE FROM t", [1, 2, 3])
            #expect(try await connection.number("SELECT count(*) FROM t") == 0)
        }
    }

    @Test func `binary rows arrive as they are`() async throws {
        try await Self.with { connection, _ in
            try await connection.script("CREATE TABLE kinds (n int4, at timestamptz, word text)")
            var rows = CopyRows()
            #expect(try await connection.copy("COPY kinds FROM STDIN (FORMAT binary)", rows) == 0)
            rows.begin(columns: 3)
            rows.append(-7)
            rows.append(timestamp: 1_700_000_000_123_456)
            rows.append(text: Array("tab\t, \"quote\", \\N, ü".utf8)[...])
            rows.begin(columns: 3)
            rows.append(8)
            rows.append(timestamp: nil)
            rows.append(text: nil)
            #expect(try await connection.copy("COPY kinds FROM STDIN (FORMAT binary)", rows) == rows.count)
            let right = """
                SELECT count(*) FROM kinds WHERE n = -7 AND at = '2023-11-14 22:13:20.123456+00'
                    AND word = E'tab\\t, "quote", \\\\N, ü' OR (n, at, word) IS NOT DISTINCT FROM (8, NULL, NULL)
                """
            #expect(try await connection.number(right) == 2)
        }
    }

    @Test func `all of a large input arrives, in whatever pieces the kernel takes it`() async throws {
        try await Self.with { connection, _ in
            let rows = Self.rows(20_000)
            let input = (0..<20).reduce(into: [UInt8]()) { bytes, _ in bytes += rows }
            for _ in 0..<20 {
                let count = try await connection.copy(Self.copy, input)
                #expect(count == 400_000)
            }
        }
    }

    @Test func `input that the server is slow to read waits, and other connections of the loop do not`() async throws {
        try await Self.with { connection, other in
            try await other.script("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
            // More than all buffers between hold.
            async let copied = connection.copy(Self.copy, Self.rows(200_000))
            try await Self.waitForLock(connection, seenBy: other)
            try await other.script("COMMIT")
            let count = try await copied
            #expect(count == 200_000)
            #expect(try await other.number("SELECT sum(n)::int8 FROM t") == 200_000 * 199_999 / 2)
        }
    }

    @Test func `an error in the rows is PostgreSQL's own, and harms no statement behind it`() async throws {
        try await Self.with { connection, _ in
            for (bytes, state) in [
                (Array("1\ta\nx\tb\n".utf8) + Self.rows(200_000), "22P02"),
                (Self.rows(200_000) + Array("-1\t\n".utf8), "23514"),
                (Array("1\n".utf8), "22P04"), (Array("1\t\u{FF}".utf8) + [0xFF, 10], "22021"),
            ] {
                async let tick = connection.execute(Self.tick)
                let error = await #expect(throws: PostgresError.self) { try await connection.copy(Self.copy, bytes) }
                let ticks = try await tick
                #expect((error?.code, error?.sqlState, error?.effect) == (.server, state, .nothingDone))
                #expect(ticks == 1)
            }
            let missing = await #expect(throws: PostgresError.self) {
                try await connection.copy("COPY nothing FROM STDIN", Self.rows(10))
            }
            #expect(missing?.sqlState == "42P01")
            #expect(try await connection.number("SELECT count(*) FROM t") == 0)
        }
    }

    @Test func `a copy is part of the transaction around it`() async throws {
        try await Self.with { connection, _ in
            let error = await #expect(throws: PostgresError.self) {
                try await connection.transaction {
                    try await connection.copy(Self.copy, Self.rows(10))
                    try await connection.execute(Statement("bad", "SELECT 1 / 0"))
                }
            }
            #expect(error?.sqlState == "22012")
            #expect(try await connection.number("SELECT count(*) FROM t") == 0)
            try await connection.transaction { _ = try await connection.copy(Self.copy, Self.rows(10)) }
            #expect(try await connection.number("SELECT count(*) FROM t") == 10)
        }
    }

    @Test func `a lost connection ends a copy`() async throws {
        try await Self.with { connection, other in
            try await other.script("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
            async let copied = Result { try await connection.copy(Self.copy, Self.rows(10_000)) }
            try await Self.waitForLock(connection, seenBy: other)
            try await other.execute(
                Statement("kill", "SELECT pg_terminate_backend($1)"),
                Parameters(connection.backendProcessID)
            )
            try await other.script("COMMIT")
            let result = await copied
            let error = #expect(throws: PostgresError.self) { try result.get() }
            #expect((error?.code, error?.effect) == (.closed, .unknown))
            #expect(try await other.number("SELECT count(*) FROM t") == 0)
        }
    }

    @Test func `a copy by a script, or from the server, is refused`() async throws {
        for sql in ["COPY t FROM STDIN", "COPY t TO STDOUT"] {
            try await Self.with { connection, _ in
                let error = await #expect(throws: PostgresError.self) { try await connection.script(sql) }
                #expect(error?.code == .closed && error?.message.contains("COPY") == true)
            }
        }
    }
}

extension Result where Failure == any Error {
    /// What became of it.
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
