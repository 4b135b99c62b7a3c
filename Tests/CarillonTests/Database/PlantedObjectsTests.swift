import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// Objects that others have created where names without a schema are looked up. None may run with the rights of the program.
@Suite struct PlantedObjectsTests {
    enum Place: String, CaseIterable, Sendable {
        /// A schema that is searched before all others.
        case first = "evil"
        /// Searched after PostgreSQL's own objects, as is usual.
        case `public`
    }

    /// Commands with a database that are run as services, and those that have one of their own.
    private static let others: Set = ["web", "pyapns"]

    /// These may end while a statement is under way.
    private static let services = ["worker", "the dashboard", "pyapns"]

    private static let last = [["migrate", "down", "--to-version", "0", "--yes"], ["migrate", "up"]]

    @Test func `the commands with a database are known here`() async throws {
        let all = Command.all.filter { $0.allOptions.contains { $0.flag == Option.database.flag } }
        try await Shop.with { shop in
            let run = (try Self.commands(shop) + Self.last).map { words in
                all.map { $0.words.joined(separator: " ") }.first { words.joined(separator: " ").hasPrefix($0) }
            }
            let left = Set(all.map { $0.words.joined(separator: " ") }).subtracting(run.compactMap(\.self))
            #expect(left == Self.others)
        }
    }

    /// The name is the database's.
    private static func withShop(_ body: (_ shop: Shop, _ name: String) async throws -> Void) async throws {
        try await Shop.with({
            $0.channelPort = 0
            $0.answers = try ["dead=410:Unregistered", "0e=400:Nope", "0c=429:TooManyProviderTokenUpdates*1"].map {
                try AnswerRule(parsing: $0)
            }
        }) { shop in
            try await Self.prepare(shop)
            let name = try #require(try await shop.database.value("current_database()"))
            try await body(shop, name)
        }
    }

    @Test(.timeLimit(.minutes(15)), arguments: Place.allCases)
    func `no statement of the program uses an object that others have planted`(place: Place) async throws {
        try await Self.withShop { shop, name in
            try await shop.database.run("CREATE ROLE worker_\(name) LOGIN IN ROLE carillon_worker")
            try await shop.database.run(PlantedObjects.plants(in: place.rawValue))
            try await PlantedObjects.expectAll(in: place.rawValue, shop.database)
            // A worker restores this path for the triggers of others; the path of its session does not matter otherwise.
            let path = "SET search_path = \(place.rawValue), public"
            try await shop.database.run("ALTER ROLE worker_\(name) IN DATABASE \(name) \(path)")
            if place == .first {
                try await shop.database.run("ALTER DATABASE \(name) SET search_path = evil, pg_catalog, public")
            }
            try await shop.database.run("ALTER DATABASE \(name) SET log_statement = 'all'")
            let worker = shop.database.url + "&user=worker_\(name)"
            let stolen = "\(place.rawValue).stolen"
            try await Self.expectUnused(in: stolen, shop, over: shop.database.url, worker) { _ in }
            try await Self.wait(shop)
            try await Self.wake(shop, worker)
            try await ProgramStatements.runMoves(shop)
            try await ProgramStatements.runRare(over: worker)
            #expect(try await shop.database.value("SELECT s.is_called FROM \(stolen) s") == "false")
            // Sessions without the settings of the program's use them.
            try await PlantedObjects.expectUse(in: place.rawValue, isFirst: place == .first, shop.database)
            let left = try ProgramStatements.all().subtracting(try await ProgramStatements.executed(in: name))
            #expect(left.isEmpty, "\(left.sorted())")
        }
    }

    @Test(
        .timeLimit(.minutes(15)),
        .enabled(if: TestPooler.isInstalled, "PgBouncer is not installed"),
        arguments: PlantedObjects.Residue.allCases
    )
    func `no statement uses what others have left in the temporary schema of a pooler's session`(
        residue: PlantedObjects.Residue
    ) async throws {
        try await Self.withShop { shop, name in
            try await shop.database.run(PlantedObjects.alarm)
            try await TestPooler.with(size: 1, before: try await TestCluster.shared, on: TestLoop.shared) { pooler in
                let url = pooler.url(database: name)
                let other = try await PostgresConnection.connect(url, application: "other")
                try await other.script(residue.sql)
                try await Self.expectUnused(in: "public.stolen", shop, over: url, url) { what in
                    let isThere = try await other.query(
                        Statement("planted", "SELECT pg_catalog.to_regtype('pg_temp.text') IS NOT NULL")
                    ) { try $0.bool(0, 0) }
                    // PgBouncer closes the session of a client that leaves while a statement is under way.
                    #expect(isThere || Self.services.contains { what.contains($0) }, "\(what)")
                    if !isThere { try await other.script(residue.sql) }
                }
                try await ProgramStatements.runRare(over: url)
                let error = await #expect(throws: PostgresError.self) { try await other.script("SELECT 1::text") }
                #expect(error?.description.contains("planted: text") == true)
                await other.close()
            }
        }
    }

    /// Runs all that the program can do with a database.
    ///
    /// - Parameters:
    ///   - sequence: what notes that an object was used.
    ///   - url: how the program reaches the database; a worker may have another login.
    ///   - planted: expects that the objects are still there.
    private static func expectUnused(
        in sequence: String,
        _ shop: Shop,
        over url: String,
        _ workerURL: String,
        planted: (_ what: String) async throws -> Void
    ) async throws {
        try await shop.database.session { watcher in
            try await watcher.run("SET search_path = pg_catalog")
            func expectUnused(_ what: String, _ said: String) async throws {
                #expect(!said.contains("lanted: "), "\(what): \(said)")
                #expect(try await watcher.value("SELECT s.is_called FROM \(sequence) s") == "false", "\(what)")
                try await watcher.run("SELECT setval('\(sequence)', 1, false)")
                try await planted(what)
            }
            func run(_ commands: [[String]]) async throws {
                for words in commands {
                    if let before = Self.before[Array(words.prefix(2))] { try await watcher.run(before) }
                    let url = words[0] == "worker" ? workerURL : url
                    let run = try await ProgramRun.run(words, environment: ["DATABASE_URL": url])
                    // Some find something to complain about, such as a stale heartbeat, but all find what they ask for.
                    #expect([0, 1, 69, 75, 78].contains(run.status), "\(words): \(run.errors)")
                    try await expectUnused("\(words)", run.output + run.errors)
                }
            }
            try await TestLoop.with { loop in
                let worker = try BackgroundProgram(
                    ["worker", "--http", "127.0.0.1:0", "--feedback-interval", "200ms", "--retry-base", "50ms"],
                    environment: ["DATABASE_URL": workerURL],
                    in: shop.folder
                )
                let line = try await worker.line(containing: "metrics are served", on: loop)
                let port = try #require(line.firstMatch(of: /"port":(\d+)/).flatMap { UInt16($0.output.1) })
                try await watcher.run(Self.work)
                try await run(try Self.commands(shop))
                try await loop.eventually("both apps are held") {
                    try await watcher.number(
                        """
                        SELECT count(*) FROM carillon.holds h JOIN carillon.apps a ON a.id = h.app_id
                        WHERE a.name IN ('away', 'legacy')
                        """
                    ) == 2
                }
                try await watcher.run(
                    """
                    UPDATE carillon.apps SET gateway = 'localhost:' || CASE name WHEN 'away' THEN \(shop.gateway.port) ELSE 2 END
                    WHERE name IN ('away', 'legacy')
                    """
                )
                for path in ["/metrics", "/readyz", "/livez"] {
                    // On a busy machine it may be a while until the database has answered within the last seconds.
                    try await loop.eventually("\(path) answers") {
                        await RawHTTP.ask(port, "GET \(path)").hasPrefix("HTTP/1.1 200 ")
                    }
                }
                try await loop.eventually("all is done") {
                    // It is not tried again, so the end of its hold is written.
                    try await watcher.run(
                        "DELETE FROM carillon.messages WHERE app_id = (SELECT a.id FROM carillon.apps a WHERE a.name = 'legacy')"
                    )
                    return try await watcher.number(
                        """
                        SELECT (SELECT count(*) FROM carillon.pending p)
                            + (SELECT count(*) FROM carillon.fleet_tasks t WHERE t.next_run <= now())
                        """
                    ) == 0
                }
                try await watcher.run(Self.stray)
                #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
                try await expectUnused("worker", worker.said)
            }
            try await Self.visit(url, shop, watcher) { try await expectUnused("a page or a form", "") }
            try await expectUnused("the dashboard", "")
            try await Self.call(url, shop)
            try await expectUnused("pyapns", "")
            try await run(Self.last)
        }
    }

    /// A command that waits for a lock asks on a connection of its own whose it is.
    private static func wait(_ shop: Shop) async throws {
        try await shop.database.session { other in
            try await other.run("BEGIN")
            try await other.run("LOCK TABLE carillon.apps")
            try await TestLoop.with { loop in
                let program = try shop.start("app", "list")
                _ = try await program.line(containing: "Waiting for a lock", on: loop)
                try await other.run("ROLLBACK")
                let end = try await program.end(on: loop)
                #expect(end == .status(0), "\(end): \(program.said)")
            }
        }
    }

    /// A worker falls asleep, and is woken.
    private static func wake(_ shop: Shop, _ workerURL: String) async throws {
        let worker = try BackgroundProgram(["worker"], environment: ["DATABASE_URL": workerURL], in: shop.folder)
        try await TestLoop.with { loop in
            let asleepSince = "SELECT max(w.asleep_since) FROM carillon.workers w"
            var since: String?
            try await loop.eventually("the worker sleeps") {
                since = try await shop.database.value(asleepSince)
                return since != nil
            }
            let row = "(id, app_id, tokens, payload, run_at) VALUES (1, 1, '{0a}', '{}', now())"
            try await shop.database.run("INSERT INTO carillon.scheduled \(row)")
            try await loop.eventually("it has woken") { try await shop.database.value(asleepSince) != since }
            #expect(try await worker.end(by: SIGTERM, on: loop) == .status(0))
        }
    }

    /// Apps that cannot send or be read for feedback at first, that have a signing key, or a credential that cannot be read.
    private static func prepare(_ shop: Shop) async throws {
        let connection = shop.database.connection
        try await connection.addApp("away", topic: Shop.topic, to: shop.gateway, gateway: "localhost:1")
        try await connection.addApp("signed", topic: Shop.topic, to: shop.gateway)
        let port = try #require(shop.gateway.channelPort)
        try await shop.database.run(
            """
            SELECT carillon.add_webhook('hook', 'shop', 'https://127.0.0.1:1/', NULL, true);
            UPDATE carillon.apps SET channel_gateway = 'localhost:' || CASE name WHEN 'away' THEN 1 ELSE \(port) END;
            UPDATE carillon.certificates SET certificate = NULL, key_id = 'SIGNED1234', team_id = 'TEAM567890',
                private_key = '\(try APNsSimulator.makeSigningKey())' WHERE name = 'signed';
            INSERT INTO carillon.certificates (name, certificate) VALUES ('ill', 'x');
            INSERT INTO carillon.apps (name, topic, certificate_id, gateway)
            SELECT c.name, '\(Shop.topic)', c.id, 'localhost:1' FROM carillon.certificates c WHERE c.name = 'ill';
            INSERT INTO carillon.apps (name, topic, certificate_id, protocol, gateway, feedback_gateway)
            VALUES ('legacy', '\(Shop.topic)', 1, 'binary', 'localhost:1', 'localhost:1');
            INSERT INTO carillon.maintenance (action, target, run_order) VALUES ('delete', 'nothing', 99);
            CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.reference OPERATOR(pg_catalog.=) 'refused' THEN RAISE EXCEPTION 'not now'; END IF; RETURN NEW;
            END $$;
            CREATE TRIGGER refuse BEFORE INSERT ON carillon.results FOR EACH ROW EXECUTE FUNCTION public.refuse();
            GRANT EXECUTE ON FUNCTION carillon.message_contents TO \(TestLogin.web.rawValue)
            """
        )
    }

    /// Done before commands that begin with these words.
    private static let before = [
        // An app is removed once nothing is left to send.
        ["app", "remove"]:
            "DELETE FROM carillon.messages WHERE app_id = (SELECT a.id FROM carillon.apps a WHERE a.name = 'new')",
        ["channel", "sync"]: "DELETE FROM carillon.channels WHERE reference = 'lost'",
    ]

    /// A claim that the worker does not know.
    private static let stray = """
        INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT w.id, 1, ARRAY[carillon.job(id => 2000000,
            lane => 1::smallint, tokens => '{be}', payload => '{"aps":{}}', created_at => now())]
        FROM carillon.workers w WHERE w.name <> 'dead'
        """

    /// Something for each kind of work.
    private static let work = """
        INSERT INTO carillon.tokens (app_id, token, last_update)
        VALUES (1, 'dead' || repeat('0', 60), '2020-01-01'), (1, 'a4' || repeat('0', 62), now());
        SELECT carillon.enqueue('shop', ARRAY['ab' || repeat('0', 62)], 'x', run_at => now() + interval '1 second');
        UPDATE carillon.apps SET max_rate = 10000, max_per_device = 10;
        SELECT carillon.enqueue('shop', ARRAY['ac' || repeat('0', 62)], content_available => true);
        INSERT INTO carillon.messages (app_id, tokens, payload)
        SELECT 1, array_agg('ad' || lpad(n::text, 62, '0')), '{"aps":{}}' FROM generate_series(1, 3000) n;
        INSERT INTO carillon.messages (app_id, tokens, payload)
        VALUES (1, '{xx}', '{"aps":{}}'), (1, '{ae}', '[]'), (99, '{af}', '{}');
        SELECT carillon.enqueue('shop', ARRAY['0e' || repeat('0', 62)], 'x'), carillon.enqueue('away', ARRAY['a1'], 'x'),
            carillon.enqueue('signed', ARRAY['0c' || repeat('0', 62)], 'x'), carillon.request_channel('away', 0, 'x'),
            carillon.enqueue('legacy', ARRAY['a2' || repeat('0', 62)], 'x'),
            carillon.enqueue('shop', ARRAY['a3' || repeat('0', 62)], 'x', reference => 'refused');
        INSERT INTO carillon.messages (app_id, tokens, payload, push_type)
        VALUES (1, '{bb}', '{"aps":{"timestamp":1,"event":"update","content-state":{}}}', 'liveactivity');
        WITH dead AS (INSERT INTO carillon.workers (name, lease_until) VALUES ('dead', '2020-01-01') RETURNING id)
        INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT d.id, 1, ARRAY[carillon.job(id => 1000000,
            lane => 1::smallint, tokens => '{ba}', payload => '{"aps":{}}', created_at => now())] FROM dead d;
        UPDATE carillon.fleet_tasks SET next_run = now();
        UPDATE carillon.maintenance SET last_success = now() - interval '1 day'
        """

    /// Each page, each form and each call of the dashboard.
    private static func visit(
        _ url: String,
        _ shop: Shop,
        _ watcher: TestDatabase,
        expectUnused: () async throws -> Void
    ) async throws {
        let key = try #require(
            try await watcher.value("carillon.create_api_token('shop', 'test', rights => '{send,read,tokens}')")
        )
        let id = try await watcher.number(
            "SELECT carillon.enqueue('shop', ARRAY['aa'], 'x', run_at => now() + interval '1 hour')"
        )
        _ = try await watcher.value("carillon.add_webhook('page', 'shop', 'https://127.0.0.1:1/', NULL, true)")
        try await DashboardClient.with(url, in: shop.folder, ["--local-changes", "--show-contents", "readers"]) {
            dashboard,
            _ in
            for path in DashboardClient.pages + [
                "/apps/shop", "/scheduled?app=shop", "/messages/\(id)", "/messages/\(id)/cancel?app=shop",
                "/trace?q=\(Shop.token("dead"))", "/trace?q=\(id)", "/failures/requeue?app=shop&since=1d",
                "/failures/dismiss?app=shop&since=1d", "/webhooks/page", "/webhooks/page/redeliver?since=2h",
            ] {
                let page = await dashboard.get(path).body
                #expect(!page.isEmpty && !page.contains("lanted: "), "\(path): \(page)")
            }
            let page = await dashboard.get("/apps/shop")
            let cookie = "Cookie: \(try #require(page.header("Set-Cookie")).prefix { $0 != ";" })\r\n"
            let token = try #require(page.body.firstMatch(of: /name="form_token" value="([^"]*)"/)).output.1
            let push = "app=shop&token=\(Shop.token("a0"))&text=hi"
            let times = "after=1&until=4000000000000000&so_far=0"
            for (path, form) in [
                ("/apps/shop/pause", "reason=x"), ("/apps/shop/resume", ""),
                ("/apps/shop/limits", "max_rate=50&max_attempts=3"), ("/messages/\(id)/cancel", "app=shop"),
                ("/failures/requeue", "app=shop&\(times)"), ("/failures/dismiss", "app=shop&\(times)"),
                ("/test", push + "&preview=yes"), ("/test", push + "&send=yes"),
                ("/webhooks/page/pause", "reason=x"), ("/webhooks/page/resume", ""),
                ("/webhooks/page/redeliver", "since=1"),
            ] {
                let done = await dashboard.post(path, "form_token=\(token)&\(form)", headers: cookie)
                #expect(["200", "303"].contains(done.status), "\(path): \(done.head)\(done.body)")
            }
            let headers = "Authorization: Bearer \(key)\r\nContent-Type: application/json\r\n"
            let posted = await dashboard.post("/messages", #"{"tokens": ["aa"], "alert": "hi"}"#, headers: headers)
            #expect(posted.status == "201", "\(posted.head)\(posted.body)")
            try await watcher.run("SELECT carillon.subscribe('shop', 'reader')")
            for (path, body) in [
                ("tokens", #"{"token": "ab", "owner": "u"}"#), ("broadcasts", #"{"alert": "hi"}"#),
                ("cancel", #"{"reference": "none"}"#), ("channels", #"{"reference": "over HTTP"}"#),
                ("events/acknowledge", #"{"consumer": "reader", "cursor": "1.1"}"#),
            ] {
                let done = await dashboard.post("/v1/apps/shop/\(path)", body, headers: headers)
                #expect(done.status.first == "2", "\(path): \(done.head)\(done.body)")
            }
            let reads = ["channels", "messages/\(id)", "trace?owner=u", "tokens?owner=u", "events?consumer=reader"]
            for path in reads {
                let read = await dashboard.get("/v1/apps/shop/\(path)", headers: headers)
                #expect(read.status == "200", "\(path): \(read.head)\(read.body)")
            }
            try await expectUnused()
            let request = "GET /live?page=/ HTTP/1.1\r\nHost: localhost:\(dashboard.port)\r\n\r\n"
            try await RawHTTP.leave(dashboard.port, request)
        }
    }

    /// Each call of pyapns.
    private static func call(_ url: String, _ shop: Shop) async throws {
        let token = "0123456789abcdef"
        let words = [
            "--add-apps", "--replace-credentials", "--access-token-file", try shop.folder.write("caller", token + "\n"),
        ]
        try await PyapnsClient.with(url, in: shop.folder, words) { client, _, _ in
            let client = client.with(token)
            for days in [100, 200] {
                let text = try PyapnsClient.certificate("com.example.news", days: Int64(days))
                let answer = await client.call("provision", "news", text, "sandbox")
                #expect(answer.isNothing, "\(answer)")
            }
            #expect(await client.call("notify", "shop", Shop.token("dd"), PyapnsClient.hello("1")).isNothing)
            #expect(!(await client.call("feedback", "shop").contains("lanted: ")))
        }
    }
}
