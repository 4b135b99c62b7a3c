import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

@Suite struct ConnectionTests {
    private static let increment = Statement("increment", "SELECT $1::int8 + 1")
    private static let divide = Statement("divide", "SELECT 10 / $1::int4")

    private static func increment(_ value: Int, on connection: PostgresConnection) async throws -> Int {
        try await connection.query(Self.increment, Parameters(Int64(value))) { rows in Int(try rows.int64(0, 0)) }
    }

    private static func divide(by value: Int32, on connection: PostgresConnection) async throws -> Int {
        try await connection.query(Self.divide, Parameters(value)) { rows in Int(try rows.int64(0, 0)) }
    }

    @Test func `a connection serves many tasks, each with its own rows`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
                for value in 0..<1_000 {
                    group.addTask { try await Self.increment(value, on: connection) != value + 1 }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(wrong == 0)
        }
    }

    @Test func `the notices of a statement come with its rows, and with no others`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script(
                """
                CREATE FUNCTION public.tell(count int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
                    FOR n IN 1..count LOOP
                        RAISE NOTICE USING MESSAGE = 'notice ' || n || ' of ' || count, HINT = 'a hint', ERRCODE = '01IGN';
                        RAISE INFO 'of no concern';
                    END LOOP;
                    RETURN count;
                END $$;
                DO $$ BEGIN RAISE WARNING 'of a script'; END $$
                """
            )
            let tell = Statement("tell", "SELECT public.tell($1::int4)")
            func notices(_ count: Int32) async throws -> [ServerNotice] {
                try await connection.query(tell, Parameters(count)) { $0.notices }
            }
            let counts = (0..<60).map { Int32($0 % 4) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for count in counts {
                    group.addTask {
                        let found = try await notices(count).map(\.sentence)
                        #expect(found == (0..<count).map { "Notice \($0 + 1) of \(count). A hint." })
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await notices(1).map(\.sqlState) == ["01IGN"])
            // A trigger may send one for each row.
            #expect(try await notices(1_000).count == 10)
        }
    }

    @Test func `an error in one statement harms no other in flight`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let answers = await withTaskGroup(of: (Int32, Int?, String?).self) { group in
                for value in 0..<100 as Range<Int32> {
                    group.addTask {
                        do {
                            return (value, try await Self.divide(by: value % 5, on: connection), nil)
                        } catch {
                            return (value, nil, (error as? PostgresError)?.sqlState)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (value, quotient, state) in answers {
                #expect(quotient == (value % 5 == 0 ? nil : Int(10 / (value % 5))))
                #expect(state == (value % 5 == 0 ? "22012" : nil))
            }
        }
    }

    @Test func `a statement that cannot be prepared fails each time, and says how`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let broken = Statement("broken", "SELEKT 1")
            for _ in 0..<2 {
                let error = await #expect(throws: PostgresError.self) { try await connection.execute(broken) }
                #expect(error?.code == .server)
                #expect(error?.sqlState == "42601")
                #expect(error?.effect == .nothingDone)
                #expect(error?.statement == "broken")
            }
            let next1 = try await Self.increment(1, on: connection)
            #expect(next1 == 2)
        }
    }

    @Test func `all calls of a statement that cannot be prepared fail for that reason`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let broken = Statement("broken", "SELECT 1 FROM missing")
            let states = await withTaskGroup(of: String?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        await #expect(throws: PostgresError.self) { try await connection.execute(broken) }?.sqlState
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(states == Array(repeating: "42P01", count: 20))
        }
    }

    @Test func `calls succeed again after any mix of changed tables and refused preparations`() async throws {
        let pick = Statement("pick", "SELECT t.* FROM things t")
        try await TestDatabase.with(.nothing) { database in
            try await database.run("CREATE TABLE things (a int)")
            try await withThrowingTaskGroup(of: Set<String?>.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        var states: Set<String?> = []
                        while !Task.isCancelled {
                            do {
                                try await database.connection.execute(pick)
                            } catch {
                                states.insert((error as? PostgresError)?.sqlState)
                            }
                        }
                        return states
                    }
                }
                try await database.session { other in
                    for round in 0..<100 {
                        try await other.run("ALTER TABLE things ADD COLUMN c\(round) int")
                        try await other.run("ALTER TABLE things RENAME TO hidden")
                        try await other.run("ALTER TABLE hidden RENAME TO things")
                    }
                }
                group.cancelAll()
                for try await states in group { #expect(states.isSubset(of: ["0A000", "42P01"])) }
            }
            // The plan of the last call may be one too old.
            _ = try? await database.connection.execute(pick)
            try await database.connection.execute(pick)
        }
    }

    @Test func `a failed statement leaves no effect, even if it fails at its end`() async throws {
        let insert = Statement("insert twice", "INSERT INTO once (id) SELECT 1 FROM generate_series(1, $1::int4)")
        try await TestDatabase.connected(.nothing) { connection, _ in
            // Deferred: the violation is found at the commit, after the statement's own result.
            try await connection.script(
                "CREATE TABLE once (id int, CONSTRAINT single UNIQUE (id) DEFERRABLE INITIALLY DEFERRED)"
            )
            let twice = Parameters(Int32(2))
            let error = await #expect(throws: PostgresError.self) { try await connection.execute(insert, twice) }
            #expect(error?.sqlState == "23505")
            #expect(error?.constraint == "single")
            #expect(try await connection.number("SELECT count(*) FROM once") == 0)
        }
    }

    @Test func `the number of rows that a statement affected is returned`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE TABLE t (id int)")
            #expect(try await connection.execute(Statement("in", "INSERT INTO t SELECT generate_series(1, 12)")) == 12)
            #expect(try await connection.execute(Statement("up", "UPDATE t SET id = 0 WHERE id > 10")) == 2)
            let returned = try await connection.query(Statement("out", "DELETE FROM t RETURNING id")) { rows in
                rows.count
            }
            #expect(returned == 12)
        }
    }

    @Test func `notices a table that changed under a statement, once`() async throws {
        let all = Statement("all", "SELECT * FROM t")
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
            let before = try await connection.query(all) { rows in rows.columnCount }
            try await connection.script("ALTER TABLE t ADD COLUMN more text")
            let error = await #expect(throws: PostgresError.self) { try await connection.execute(all) }
            #expect(error?.sqlState == "0A000")
            let after = try await connection.query(all) { rows in rows.columnCount }
            #expect((before, after) == (1, 2))
        }
    }

    @Test func `one name is one statement with one list of types`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            let next1 = try await Self.increment(1, on: connection)
            #expect(next1 == 2)
            let error = await #expect(throws: PostgresError.self) {
                try await connection.execute(Self.increment, Parameters("1"))
            }
            #expect(error?.code == .unexpectedValue)
            let another = Statement("increment", "SELECT $1::int8 - 1")
            let other = await #expect(throws: PostgresError.self) {
                try await connection.execute(another, Parameters(Int64(1)))
            }
            #expect(other?.code == .unexpectedValue)
            let next2 = try await Self.increment(2, on: connection)
            #expect(next2 == 3)
        }
    }

    @Test func `more parameters than the protocol can carry harm only their statement`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            var parameters = Parameters()
            for value in 0..<70_000 as Range<Int32> { parameters.append(value) }
            let tooMany = parameters
            let error = await #expect(throws: PostgresError.self) {
                try await connection.execute(Statement("too many", "SELECT 1"), tooMany)
            }
            #expect(error?.code == .unexpectedValue)
            let next1 = try await Self.increment(1, on: connection)
            #expect(next1 == 2)
        }
    }

    @Test func `a script runs whole or not at all`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE TABLE a (); CREATE TABLE b ();")
            let error = await #expect(throws: PostgresError.self) {
                try await connection.script("CREATE TABLE c (); SELECT 1 / 0; CREATE TABLE d ();")
            }
            #expect(error?.sqlState == "22012")
            #expect(try await connection.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 2)
            try await connection.script("")
        }
    }

    @Test func `scripts and statements of many tasks do not mix`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE TABLE t (id int)")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for value in 0..<50 {
                    group.addTask { try await connection.script("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)") }
                    group.addTask {
                        let next = try await Self.increment(value, on: connection)
                        #expect(next == value + 1)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await connection.number("SELECT count(*) FROM t") == 100)
        }
    }

    @Test func `a transaction is committed, or rolled back`() async throws {
        struct LibpqReport: Error {}
        let insert = Statement("insert", "INSERT INTO t VALUES (1)")
        try await TestDatabase.connected(.nothing) { connection, _ in
            try await connection.script("CREATE TABLE t (id int)")
            try await connection.transaction { _ = try await connection.execute(insert) }
            await #expect(throws: LibpqReport.self) {
                try await connection.transaction {
                    try await connection.execute(insert)
                    throw LibpqReport()
                }
            }
            let error = await #expect(throws: PostgresError.self) {
                try await connection.transaction {
                    try await connection.execute(insert)
                    _ = try? await connection.execute(Statement("bad", "SELECT 1 / 0"))
                }
            }
            #expect(error?.message.contains("rolled back") == true)
            #expect(try await connection.number("SELECT count(*) FROM t") == 1)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `an answer does not wait for a large statement behind it`() async throws {
        let waiting = """
            SELECT count(*) FROM pg_locks l WHERE l.locktype = 'advisory' AND NOT l.granted
            AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            """
        try await TestDatabase.connected(.nothing) { connection, url in
            let other = try await PostgresConnection.connect(url, application: "other")
            try await other.script("SELECT pg_advisory_lock(1), pg_advisory_lock(2)")
            let text = Parameters(String(repeating: "x", count: 8 << 20))
            async let first = connection.execute(Statement("small", "SELECT pg_advisory_lock(1)"))
            try await TestLoop.shared.eventually("the server has the small statement") {
                try await other.number(waiting) == 1
            }
            // What libpq read while it made room for the large one must not stay with it.
            async let second = connection.execute(
                Statement("large", "SELECT pg_advisory_lock(2), length($1::text)"),
                text
            )
            try await other.script("SELECT pg_advisory_unlock(1)")
            #expect(try await first == 1)
            try await other.script("SELECT pg_advisory_unlock(2)")
            #expect(try await second == 1)
            await other.close()
        }
    }

    @Test(arguments: [true, false])
    func `a connection may be released after its loop has ended`(isClosed: Bool) async throws {
        try await TestDatabase.unconnected(.nothing) { url in
            let loop = try EventLoop(name: "short")
            let connection = try await PostgresConnection.connect(url, on: loop, application: "late")
            if isClosed { await connection.close() }
            loop.stop()
            loop.join()
            withExtendedLifetime(connection) {}
        }
    }

    @Test func `a connection ends its session with the last reference`() async throws {
        try await TestDatabase.connected(.nothing) { connection, url in
            func forget() async throws -> Int32 {
                try await PostgresConnection.connect(url, application: "forgotten")
                    .backendProcessID
            }
            let parameters = Parameters(try await forget())
            let sessions = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1"
            try await TestLoop.shared.eventually("the session ends") {
                try await connection.number(sessions, parameters) == 0
            }
        }
    }

    @Test func `a connection reports its name and the server's version`() async throws {
        try await TestDatabase.connected(.nothing) { connection, _ in
            #expect(connection.serverVersion >= 130_000)
            let name = Statement(
                "name",
                "SELECT application_name, pid FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            )
            let answer = try await connection.query(name) { rows in try (rows.string(0, 0), rows.int32(0, 1)) }
            #expect(answer == ("test", connection.backendProcessID))
        }
    }
}
