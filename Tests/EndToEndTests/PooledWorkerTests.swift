import ApplePush
import CarillonPostgres
import CarillonPushQueue
import TestSupport
import Testing

@Suite(.enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"))
struct PooledWorkerTests {
    /// Temporary types are found before PostgreSQL's own, unless the search_path says otherwise.
    @Test(.demo)
    func `no statement or script uses objects that another client left in a session of the pooler`() async throws {
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
