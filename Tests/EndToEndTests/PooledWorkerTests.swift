import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

@Suite(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
struct PooledWorkerTests {
    @Test(.queue)
    func `workers that share few connections of a pooler in transaction mode drain the queue`() async throws {
        try await queue.database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, ARRAY[lpad(to_hex(m), 64, '0')], '{"aps":{}}' FROM generate_series(1, 5000) AS m
            """
        )
        let cluster = try await TestCluster.shared
        let database = try #require(queue.database.url.split(separator: "?").first?.split(separator: "/").last)
        let backend = RecordedBackend()
        try await TestPooler.with(size: 2, as: .worker, before: cluster, on: queue.loop) { pooler in
            let url = pooler.url(database: String(database))
            let reports = try await withThrowingTaskGroup(of: Worker.Summary.self) { group in
                for number in 1...4 {
                    group.addTask {
                        try await queue.worker(backend) { options in
                            options.database = DatabaseSource(url)
                            options.name = "worker \(number)"
                            options.once = true
                            options.maxInFlight = 600
                        }.run()
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let areClean = reports.allSatisfy(\.isClean)
            let errors = reports.reduce(0) { $0 + $1.counters[.databaseErrors] }
            #expect(areClean && errors == 0)
        }
        let sent = backend.sent.map(\.id)
        #expect(sent.count == 5000 && Set(sent).count == 5000)
        #expect(try await queue.database.number("SELECT sum(sent) FROM carillon.results") == 5000)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight") == 0)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.workers") == 0)
    }

    /// Temporary types are found before PostgreSQL's own, unless the search_path says otherwise.
    @Test(.demo) func `no statement or script uses objects that another client left in a session of the pooler`()
        async throws
    {
        try await database.run(
            """
            CREATE SEQUENCE public.stolen;
            CREATE FUNCTION public.trip() RETURNS boolean LANGUAGE sql AS
                $$ SELECT pg_catalog.nextval('public.stolen') > 0 $$
            """
        )
        let name = try #require(database.url.split(separator: "?").first?.split(separator: "/").last)
        let loop = TestLoop.shared
        try await TestPooler.with(size: 1, before: try await TestCluster.shared, on: loop) { pooler in
            let url = pooler.url(database: String(name))
            let other = try await PostgresConnection.connect(url, on: loop, application: "other")
            try await other.script("CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (public.trip())")
            let ours = try await PostgresConnection.connect(url, on: loop, settings: .unhurried)
            try await ours.execute(Statement("plain", "SELECT a.name::text FROM carillon.apps a"))
            try await ours.transaction {
                try await ours.script("CREATE TEMPORARY TABLE pg_temp.mine (a text) ON COMMIT DROP")
                try await ours.script("INSERT INTO pg_temp.mine VALUES ('x'); SELECT 'x'::text")
            }
            #expect(try await database.value("SELECT s.is_called FROM public.stolen s") == "false")
            try await other.script("SELECT 'x'::text")
            #expect(try await database.value("SELECT s.is_called FROM public.stolen s") == "true")
            await ours.close()
            await other.close()
        }
    }
}
