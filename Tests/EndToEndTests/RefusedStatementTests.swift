import ApplePush
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

/// What a worker does while PostgreSQL refuses its statements, and once it does not any more.
@Suite struct RefusedStatementTests {
    /// - Parameter leavesUnrecorded: PostgreSQL refuses some results for good.
    private static func running(
        _ backend: any Backend,
        leavesUnrecorded: Bool = false,
        _ body: (TestQueue, Worker) async throws -> Void
    ) async throws {
        try await TestQueue.with { queue in
            let worker = queue.worker(backend) { $0.retry = RetryPolicy(base: .seconds(1), cap: .seconds(1)) }
            _ = try await queue.running(worker) {
                try await Self.enqueue(5, in: queue)
                try await queue.loop.eventually("the worker works") {
                    try await queue.database.number("SELECT count(*) FROM carillon.results") == 5
                }
                try await body(queue, worker)
                worker.drain()
            }
            #expect((worker.counters[.unrecorded] > 0) == leavesUnrecorded)
        }
    }

    /// - Parameter prefix: of the device tokens.
    private static func enqueue(
        _ count: Int,
        to table: String = "messages",
        prefix: String = "",
        in queue: TestQueue
    ) async throws {
        let (columns, values) = table == "scheduled" ? (", id, run_at", ", i, now()") : ("", "")
        try await queue.database.run(
            """
            INSERT INTO carillon.\(table) (app_id, lane, tokens, payload\(columns))
            SELECT 1, i % 3, ARRAY['\(prefix)' || lpad(to_hex(i), 8, '0')], '{"aps":{}}'\(values) FROM generate_series(1, \(count)) AS i
            """
        )
    }

    /// Waits, and expects few errors in each second.
    private static func expectFewErrors(of worker: Worker, for seconds: Int, in queue: TestQueue) async throws {
        try await queue.loop.eventually("a statement was refused") { worker.counters[.databaseErrors] > 0 }
        for second in 0..<seconds {
            let (errors, began) = (worker.counters[.databaseErrors], MonotonicInstant.now)
            try await queue.loop.eventually("a second has passed") { MonotonicInstant.now - began >= .seconds(1) }
            let passed = Double((MonotonicInstant.now - began).nanoseconds) / 1e9
            let more = worker.counters[.databaseErrors] - errors
            #expect(Double(more) <= 20 * passed, "in second \(second)")
        }
    }

    @Test func `a refused claim of one app delays no other`() async throws {
        let backend = RecordedBackend()
        try await Self.running(backend) { queue, worker in
            try await queue.addApp("other", topic: "org.example.app")
            try await queue.database.run(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN IF NEW.app_id = 1 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON carillon.inflight FOR EACH ROW EXECUTE FUNCTION public.refuse()
                """
            )
            try await Self.enqueue(50, in: queue)
            try await Self.expectFewErrors(of: worker, for: 1, in: queue)
            for number in 1...20 {
                try await queue.database.run(
                    "INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (2, '{bb}', '{\"aps\":{}}')"
                )
                try await queue.loop.eventually("the other app's push was sent", within: .seconds(30)) {
                    backend.sent.count == 5 + number
                }
            }
            try await queue.database.run("DROP TRIGGER refuse ON carillon.inflight")
        }
    }

    @Test func `settlements of one app that are refused for their content are tried at most 20 times a second`()
        async throws
    {
        let backend = RecordedBackend()
        try await Self.running(backend, leavesUnrecorded: true) { queue, worker in
            let name = try #require(try await queue.database.value("current_database()"))
            try await queue.addApp("other", topic: "org.example.app")
            try await queue.database.run(
                """
                CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN IF NEW.app_id = 1 THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$;
                CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION public.refuse()
                """
            )
            // What is under way when the first settlement is refused is sent whatever comes of it.
            try await Self.enqueue(1, in: queue)
            try await queue.loop.eventually("a settlement was refused") { worker.counters[.databaseErrors] > 0 }
            let began = MonotonicInstant.now
            var rounds = 0
            // At least as many claims could be refused, however long the machine takes to enqueue so many.
            while rounds < 250 || MonotonicInstant.now - began < .seconds(5) {
                try await queue.database.run(
                    """
                    INSERT INTO carillon.messages (app_id, lane, tokens, payload)
                    VALUES (1, \(rounds % 60), '{bb}', '{"aps":{}}'), (2, 0, '{cc}', '{"aps":{}}')
                    """
                )
                rounds += 1
            }
            let logged = try await TestCluster.errors(of: name)
            #expect(!logged.isEmpty && logged.allSatisfy { $0.value.count <= 20 }, "\(logged)")
            try await queue.loop.eventually("the other app's pushes have ended") {
                try await queue.database.number("SELECT count(*) FROM carillon.results WHERE app_id = 2") == rounds
            }
            try await queue.loop.eventually("a push is given up as unrecorded") { worker.counters[.unrecorded] > 0 }
            try await queue.database.run("DROP TRIGGER refuse ON carillon.results")
            try await queue.loop.eventually("all have ended") {
                try await queue.database.number("SELECT count(*) FROM carillon.pending") == 0
            }
            #expect(backend.sent.count == 6 + 2 * rounds)
        }
    }

    /// Without INSERT on `results` no delivered push can be recorded, without `failures` no failed one, without `scheduled` none
    /// can be retried later, and without `messages` none that is due can go back to the queue.
    @Test(arguments: ["results", "failures", "scheduled", "messages"])
    func `six seconds without a right end no push as unrecorded or unqueued`(table: String) async throws {
        let isBarred = Guarded(false)
        let backend = RecordedBackend { _ in
            guard isBarred.withLock({ $0 }) else { return .accepted }
            return switch table {
            case "scheduled": .rejected(429, "TooManyRequests")
            case "failures": .rejected(400, "BadPriority")
            default: .accepted
            }
        }
        try await Self.running(backend) { queue, worker in
            isBarred.withLock { $0 = true }
            try await queue.database.run("REVOKE INSERT ON carillon.\(table) FROM carillon_worker")
            try await Self.enqueue(60, to: table == "messages" ? "scheduled" : "messages", in: queue)
            try await Self.expectFewErrors(of: worker, for: 6, in: queue)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.failures") == 0)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.results") == 5)
            isBarred.withLock { $0 = false }
            try await queue.database.run("GRANT INSERT ON carillon.\(table) TO carillon_worker")
            try await queue.loop.eventually("all have ended") {
                try await queue.database.number("SELECT count(*) FROM carillon.results") == 65
            }
            let reasons = try await queue.database.rows("SELECT DISTINCT reason FROM carillon.failures")
            #expect(reasons == (table == "failures" ? ["(BadPriority)"] : []))
        }
    }

    /// What a worker has much of at once, where each piece is a statement that is refused.
    enum Chore: String, CaseIterable, Sendable {
        case takeOvers
        case takeOverConnections
        case notes
        case channels
        case breakers

        private static let deadWorkers = """
            INSERT INTO carillon.workers (name, heartbeat_at, lease_until)
            SELECT 'dead ' || n, now() - interval '62 seconds', now() - interval '60 seconds' FROM generate_series(1, 40) n
            """

        /// They have no credential.
        private static let apps = """
            INSERT INTO carillon.apps (name, topic) SELECT 'app ' || n, 'org.example.app' FROM generate_series(1, 40) n
            """

        private static func trigger(_ table: String, _ condition: String) -> String {
            """
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF \(condition) THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW; END $$;
            CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON carillon.\(table)
                FOR EACH ROW EXECUTE FUNCTION public.refuse()
            """
        }

        var begin: String {
            switch self {
            case .takeOvers: "REVOKE EXECUTE ON FUNCTION carillon.take_over FROM carillon_worker; \(Self.deadWorkers)"
            case .takeOverConnections:
                "REVOKE EXECUTE ON FUNCTION carillon.installation_state FROM carillon_worker; \(Self.deadWorkers)"
            case .notes:
                """
                \(Self.trigger("holds", "true")); \(Self.apps);
                INSERT INTO carillon.messages (app_id, tokens, payload)
                SELECT a.id, '{aa}', '{"aps":{}}' FROM carillon.apps a WHERE a.name LIKE 'app %'
                """
            case .channels:
                """
                \(Self.trigger("channels", "NEW.last_error IS NOT NULL")); \(Self.apps);
                SELECT carillon.request_channel(a.name, 0, 'match') FROM carillon.apps a WHERE a.name LIKE 'app %'
                """
            case .breakers:
                """
                REVOKE EXECUTE ON FUNCTION carillon.open_breakers FROM carillon_worker;
                INSERT INTO carillon.messages (app_id, tokens, payload)
                SELECT 1, array_agg('bad' || lpad(to_hex(n * 200 + i), 61, '0')), '{"aps":{}}'
                FROM generate_series(1, 100) n, generate_series(1, 200) i GROUP BY n
                """
            }
        }

        var end: String {
            switch self {
            case .takeOvers: "GRANT EXECUTE ON FUNCTION carillon.take_over TO carillon_worker"
            case .takeOverConnections: "GRANT EXECUTE ON FUNCTION carillon.installation_state TO carillon_worker"
            case .notes: "DROP TRIGGER refuse ON carillon.holds"
            case .channels: "DROP TRIGGER refuse ON carillon.channels"
            case .breakers: "GRANT EXECUTE ON FUNCTION carillon.open_breakers TO carillon_worker"
            }
        }

        /// Zero once all is done.
        var rest: String {
            switch self {
            case .takeOvers, .takeOverConnections: "SELECT count(*) - 1 FROM carillon.workers"
            case .notes: "SELECT 40 - count(*) FROM carillon.holds"
            // Those that were refused are taken again in a minute.
            case .channels: "SELECT 0"
            case .breakers: "SELECT count(*) FROM carillon.messages"
            }
        }
    }

    @Test(arguments: Chore.allCases)
    func `many refused statements of one kind are repeated at most 20 times a second, and soon succeed`(
        chore: Chore
    ) async throws {
        let backend = RecordedBackend { $0.hasPrefix("bad") ? .rejected(400, "BadDeviceToken") : .accepted }
        try await Self.running(backend) { queue, worker in
            let name = try #require(try await queue.database.value("current_database()"))
            try await queue.database.run(chore.begin)
            try await queue.loop.eventually("a statement was refused") {
                try await !TestCluster.errors(of: name).isEmpty
            }
            let began = MonotonicInstant.now
            try await queue.loop.eventually("three seconds have passed") { MonotonicInstant.now - began >= .seconds(3) }
            let logged = try await TestCluster.errors(of: name)
            #expect(logged.allSatisfy { $0.value.count <= 20 }, "\(logged)")
            try await queue.database.run(chore.end)
            try await queue.loop.eventually("all is done") {
                try await queue.database.number(chore.rest) == 0
            }
        }
    }

    /// What says nothing of a row: the schema is not as it should be, or nothing may be written.
    enum Absence: String, CaseIterable, Sendable {
        case table = "ALTER TABLE carillon.scheduled RENAME TO hidden"
        case results = "ALTER TABLE carillon.results RENAME TO hidden"
        case schema = "ALTER SCHEMA carillon RENAME TO hidden"
        case function = """
            DO $$ BEGIN
                CREATE TABLE public.kept AS SELECT pg_get_functiondef(p.oid) AS text, p.oid::regprocedure::text AS name FROM pg_proc p
                    WHERE p.pronamespace = 'carillon'::regnamespace AND p.proname = 'settle';
                EXECUTE (SELECT 'DROP FUNCTION ' || k.name FROM public.kept k);
            END $$
            """
        case writing = """
            DO $$ BEGIN
                EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
            END $$
            """

        var end: String {
            switch self {
            case .table: "ALTER TABLE carillon.hidden RENAME TO scheduled"
            case .results: "ALTER TABLE carillon.hidden RENAME TO results"
            case .schema: "ALTER SCHEMA hidden RENAME TO carillon"
            case .function:
                """
                DO $$ BEGIN
                    EXECUTE (SELECT k.text FROM public.kept k);
                    EXECUTE (SELECT format('GRANT EXECUTE ON FUNCTION %s TO carillon_worker', k.name) FROM public.kept k);
                END $$
                """
            case .writing:
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I RESET default_transaction_read_only', current_database());
                END $$
                """
            }
        }
    }

    @Test(arguments: Absence.allCases)
    func `six seconds without a table, the schema, a function or the right to write charge no push under load`(
        absence: Absence
    ) async throws {
        let isBarred = Guarded(false)
        var backend = RemainderBackend()
        backend.recorded = RecordedBackend { token in
            isBarred.withLock { $0 } && !token.hasPrefix("5100") ? .rejected(429, "TooManyRequests") : .accepted
        }
        let recorded = backend.recorded
        try await Self.running(backend) { [backend] queue, worker in
            // Six seconds are time for many of them.
            try await queue.database.run("UPDATE carillon.apps SET max_attempts = 100")
            isBarred.withLock { $0 = true }
            // These are on their way when it begins, and cannot be settled; of the others, many are not yet claimed.
            try await Self.enqueue(60, prefix: "5100", in: queue)
            try await queue.loop.eventually("they are on their way") { recorded.sent.count >= 65 }
            try await Self.enqueue(1000, in: queue)
            try await queue.database.run(absence.rawValue)
            // Only new sessions read this setting.
            if absence == .writing { try await queue.cutConnections() }
            backend.release()
            try await Self.expectFewErrors(of: worker, for: 6, in: queue)
            isBarred.withLock { $0 = false }
            try await queue.database.run(absence.end)
            try await queue.loop.eventually("all have ended") {
                try await queue.database.number("SELECT count(*) FROM carillon.results") == 1065
            }
            #expect(try await queue.database.number("SELECT sum(sent) FROM carillon.results") == 1065)
            #expect(try await queue.database.number("SELECT count(*) FROM carillon.failures") == 0)
        }
    }
}
