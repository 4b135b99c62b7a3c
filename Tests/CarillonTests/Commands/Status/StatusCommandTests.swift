import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import Glibc
import TestSupport
import Testing

@testable import Carillon

/// `status`, as people and programs read it.
@Suite(.shop) struct StatusCommandTests {
    @Test
    func `a worker with a long lease may be silent for long, and its lease stands beside that`() async throws {
        try await shop.database.connection.script(
            """
            INSERT INTO carillon.workers (name, heartbeat_at, lease_until)
            VALUES ('patient', now() - interval '23 seconds', now() + interval '97 seconds')
            """
        )
        let text = try await shop.run("status").output
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("patient") })
        let words = line.split(separator: " ")
        #expect(text.contains("HEARTBEAT  LEASE") && words.contains("ago") && words.contains("2m"), "\(text)")
        #expect(try await shop.run("status", "--json").output.contains("\"lease_seconds\":120"))
    }

    @Test func `a worker stands there with the number that its log names, and since when it has run`() async throws {
        try await TestLoop.with { loop in
            let worker = try shop.start("worker")
            let first = try await worker.line(containing: "has started", on: loop)
            let number = try #require(first.split(separator: "\"worker\":").last).prefix { $0.isNumber }
            let name = try await shop.database.connection.query(
                Statement("name", "SELECT name FROM carillon.workers")
            ) {
                try $0.string(0, 0)
            }
            let words = try await line(of: name, shop)
            #expect(words.prefix(3) == [name, String(number), Program.version], "\(words)")
            #expect(try await shop.run("status", "--json").output.contains("\"id\":\(number),"))
            let began = "SELECT (extract(epoch FROM min(started_at)) * 1000000)::int8 FROM carillon.workers"
            try await shop.database.connection.script("UPDATE carillon.workers SET started_at = now()")
            let before = try await shop.database.number(began)
            try await shop.database.connection.script("DELETE FROM carillon.workers")
            let second = try await worker.line(containing: "with another id", on: loop)
            #expect(second.contains("\"worker\":"))
            // It is the worker that knows how long it has run: the row of its first number is gone.
            #expect(try await shop.database.number(began) < before)
            _ = try await worker.end(by: SIGTERM, on: loop)
        }
    }

    /// Their leases are so long that a state stays while the test looks, however busy the machine is.
    private static let rows = """
        INSERT INTO carillon.workers (name, heartbeat_at, lease_until, settles_by, asleep_since)
        SELECT w.name, w.beat, w.beat + interval '10 minutes', w.settles_by, w.asleep_since FROM (VALUES
            ('killed', now() - interval '320 seconds', now() + interval '10 minutes', NULL),
            ('slow', now() - interval '200 seconds', now() + interval '10 minutes', NULL),
            ('blocked', now(), now() - interval '1 second', NULL), ('idle', now(), NULL, NULL), ('careless', now(), NULL, NULL),
            ('future', now() + interval '20 minutes', NULL, now()), ('resting', now(), NULL, '2026-11-22 11:45Z'),
            ('weary', now(), NULL, '2026-11-22 11:45Z')) AS w(name, beat, settles_by, asleep_since);
        INSERT INTO carillon.inflight (worker_id, app_id, jobs, claimed_at)
        SELECT w.id, 1, '{}', now() - interval '30 minutes' FROM carillon.workers w WHERE w.name = 'careless'
        """
    private static let states = [
        "killed": "silent", "slow": "alive", "blocked": "stuck", "idle": "alive", "careless": "stuck",
        "future": "silent", "resting": "asleep", "weary": "asleep",
    ]

    @Test func `a worker is silent after two missed heartbeats, and stuck if it settles nothing, wherever one looks`()
        async throws
    {
        try await shop.database.run(Self.rows)
        let json = try await shop.run("status", "--json").output
        let check = try await shop.run("check").output
        let view = try await shop.database.rows("SELECT name, state FROM carillon.worker_status")
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let page = await client.get("/workers", json: true).body
            for (worker, state) in Self.states {
                #expect(view.contains("(\(worker),\(state))"), "\(view)")
                #expect(try await line(of: worker, shop).contains(state))
                for text in [json, page] {
                    let row = try #require(text.split(separator: "{").first { $0.contains("\"name\":\"\(worker)\"") })
                    #expect(
                        row.contains("\"state\":\"\(state)\",\"alive\":\(["alive", "asleep"].contains(state))"),
                        "\(row)"
                    )
                }
            }
            let html = await client.get("/workers").body
            for mark in ["bad\">stuck", "bad\">silent", "good\">alive", "quiet\">asleep since 2026-11-22 11:45:00 UTC"]
            { #expect(html.contains(mark), "\(mark)") }
            let overview = await client.get("/").body
            #expect(overview.contains("Workers blocked and careless have claims"), "\(overview)")
            #expect(overview.contains("2 silent and 2 stuck"))
        }
        #expect(check.contains("warning  workers       Workers blocked and careless have claims"), "\(check)")
        var metrics = MetricsText()
        let workers = try await WorkerRecord.all(from: shop.database.connection)
        metrics.merge(WorkerMetrics(counters: WorkerCounters(), reading: .init(workers: workers)).measurements)
        for state in ["alive", "asleep", "silent", "stuck"] {
            #expect(metrics.text.contains("carillon_workers{state=\"\(state)\"} 2\n"), "\(metrics.text)")
        }
    }

    /// Heartbeats are twelve seconds apart. How many are missing is asked of the database, whenever the test happens to look.
    @Test func `a worker that was killed is silent before its lease is over, with nobody to notice it`() async throws {
        // A push without an answer keeps the worker awake.
        try await Shop.with({ $0.delay = .seconds(3_000) }) { shop in
            try await TestLoop.with { loop in
                try await shop.enqueue(1)
                let worker = try shop.start("worker", "--lease", "60s")
                try await loop.eventually("it is on its way") { await shop.gateway.statistics().requests == 1 }
                #expect(try await shop.run("status", "--json").output.contains(#""state":"alive""#))
                #expect(try await worker.end(by: SIGKILL, on: loop) == .signal(SIGKILL))
                let question =
                    "SELECT state, silence > lease / 5 * 2, silence > lease / 5 * 3, silence < lease FROM carillon.worker_status"
                try await loop.eventually("the worker is silent") {
                    let row = try #require(try await shop.database.rows(question).first)
                    try #require(
                        ["(alive,f,f,t)", "(alive,t,f,t)", "(silent,t,f,t)", "(silent,t,t,t)"].contains(row),
                        "\(row)"
                    )
                    return row.hasPrefix("(silent")
                }
                let json = try await shop.run("status", "--json").output
                let row = try #require(
                    json.firstMatch(of: /"state":"silent","alive":false,.*?"silence_seconds":(\d+),"lease_seconds":60,/)
                )
                #expect(try #require(Int(row.output.1)) < 60, "\(json)")
                let name = try #require(try await shop.database.value("SELECT name FROM carillon.worker_status"))
                #expect(try await line(of: name, shop).contains("silent"))
                #expect(try await shop.run("check").output.contains("Worker \(name) missed two heartbeats or more."))
                try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
                    #expect(await client.get("/workers", json: true).body.contains(#""state":"silent","alive":false"#))
                }
            }
        }
    }

    /// Each place is read once after the change, and only the metrics may be older: their clock is two seconds later then.
    @Test(arguments: [
        "UPDATE carillon.apps SET gateway = 'localhost:9'", "UPDATE carillon.apps SET topic = 'com.example.other'",
        "UPDATE carillon.certificates SET passphrase = 'new'",
    ])
    func `all views agree whether an app is held, and show no hold two seconds after a change`(
        change: String
    ) async throws {
        let source = DatabaseSource(TestLogin.worker.url(shop.database.url))
        let gauges = DatabaseGauges(database: source, loop: TestLoop.shared)
        let now = MonotonicInstant.now
        try await shop.database.run(
            "INSERT INTO carillon.holds (app_id, kind, reason) VALUES (1, 'connection', 'Nobody answers.')"
        )
        let before = try await holds(of: shop, gauges, at: now)
        #expect(before.values.allSatisfy { $0 }, "\(before)")
        try await shop.database.run(change)
        let after = try await holds(of: shop, gauges, at: now + .seconds(2))
        #expect(!after.values.contains(true), "\(after)")
        await gauges.close()
    }

    /// Whether the app of the shop is held, as each place says.
    private func holds(
        of shop: Shop,
        _ gauges: DatabaseGauges,
        at now: MonotonicInstant
    ) async throws -> [String: Bool] {
        let sentence = "Nobody answers"
        var holds = [
            "view": try await shop.database.number("SELECT count(*) FROM carillon.held_apps") == 1,
            "status": try await shop.run("status").output.contains(sentence),
            "status --json": try await shop.run("status", "--json").output.contains(#""hold_kind":"connection""#),
            "app list": try await shop.run("app", "list").output.contains("held"),
            "app show": try await shop.run("app", "show", "shop").output.contains(sentence),
            "check": try await shop.run("check").output.contains(sentence),
            "metrics": await isHeld(gauges, at: now),
        ]
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            for path in ["/", "/apps/shop"] {
                holds[path] = await client.get(path).body.contains(sentence)
                holds["\(path), JSON"] = await client.get(path, json: true).body.contains(sentence)
            }
        }
        return holds
    }

    private func isHeld(_ gauges: DatabaseGauges, at now: MonotonicInstant) async -> Bool {
        var metrics = MetricsText()
        metrics.merge(WorkerMetrics(counters: WorkerCounters(), reading: await gauges.read(at: now)).measurements)
        #expect(metrics.text.contains(#"carillon_ready_jobs{app="shop"}"#))
        return metrics.text.contains(#"carillon_app_held{app="shop",kind="connection"} 1"#)
    }

    @Test func `a number that was not counted to its end says so, wherever it stands`() async throws {
        let rows =
            "INSERT INTO carillon.messages (app_id, tokens, payload) SELECT 1, '{aa}', '{}' FROM generate_series(1, 2000)"
        try await shop.database.run("ALTER TABLE carillon.messages SET (autovacuum_enabled = off); " + rows)
        try await shop.database.run("UPDATE carillon.apps SET paused = true")
        try await expectReady("at least 1,001", of: shop)
        try await shop.database.run("ANALYZE carillon.messages")
        try await expectReady("about 2,000", of: shop)
        try await shop.database.run("DELETE FROM carillon.messages WHERE id > 10")
        try await expectReady("10", of: shop)
    }

    private func expectReady(_ text: String, of shop: Shop) async throws {
        let number = text.split(separator: " ").last?.filter(\.isNumber) ?? ""
        let precision = ["at least", "about"].first { text.hasPrefix($0) } ?? "exact"
        #expect(try await shop.run("status").output.contains(" \(text) "))
        #expect(try await shop.run("app", "show", "shop").output.contains("\(text) ready"))
        #expect(try await shop.run("check").output.contains("and \(text) jobs wait"))
        let json = try await shop.run("status", "--json").output
        #expect(json.contains("\"ready\":\(number),\"ready_precision\":\"\(precision)\""), "\(json)")
        let view = try await shop.database.rows("SELECT ready, ready_precision FROM carillon.app_status")
        #expect(view == ["(\(number),\(precision.contains(" ") ? "\"\(precision)\"" : precision))"])
        let apps = try await AppStatus.all(from: shop.database.connection)
        var metrics = MetricsText()
        metrics.merge(WorkerMetrics(counters: WorkerCounters(), reading: .init(apps: apps)).measurements)
        #expect(metrics.text.contains("carillon_ready_jobs_exact{app=\"shop\"} \(precision == "exact" ? 1 : 0)\n"))
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            let overview = await client.get("/", json: true).body
            #expect(overview.contains("\"ready\":\(number),\"ready_precision\":\"\(precision)\""), "\(overview)")
            for path in ["/", "/apps", "/apps/shop"] {
                #expect(await client.get(path).body.contains(">\(text)<"), "\(path)")
            }
        }
    }

    /// Commands and metrics count scheduled jobs to their end, pages so far. Jobs in flight are few, so all count them all.
    @Test func `scheduled jobs and jobs in flight are the same number wherever one looks, or are said to be more`()
        async throws
    {
        // Only of a paused app does check say what waits.
        try await shop.database.run(
            """
            UPDATE carillon.apps SET paused = true;
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT n, 1, array_fill(carillon.job(
                id => 1, lane => 1::smallint, tokens => '{aa}', payload => '{}'), ARRAY[600]) FROM generate_series(1, 2) n
            """
        )
        try await schedule(1...1000, in: shop)
        try await expectScheduled(1000, "1,000", onPages: "1,000", of: shop)
        try await schedule(1001...2000, in: shop)
        try await expectScheduled(2000, "2,000", onPages: "at least 1,001", of: shop)
    }

    private func schedule(_ jobs: ClosedRange<Int>, in shop: Shop) async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.scheduled (app_id, id, tokens, payload, run_at) SELECT 1, n, '{aa}', '{}',
                now() + interval '1 day' FROM generate_series(\(jobs.lowerBound), \(jobs.upperBound)) n
            """
        )
    }

    /// With 1,200 jobs in flight.
    private func expectScheduled(_ number: Int, _ text: String, onPages pages: String, of shop: Shop) async throws {
        let status = try await shop.run("status").output
        #expect(status.contains(" \(text) ") && status.contains(" 1200 "), "\(status)")
        let show = try await shop.run("app", "show", "shop").output
        #expect(show.contains("0 ready, \(text) scheduled, 1,200 in flight"), "\(show)")
        let check = try await shop.run("check").output
        #expect(check.contains("0 jobs wait (\(text) more scheduled for later)"), "\(check)")
        let json = try await shop.run("status", "--json").output
        #expect(json.contains("\"scheduled\":\(number),\"scheduled_precision\":\"exact\""), "\(json)")
        #expect(json.contains("\"in_flight\":1200,"), "\(json)")
        #expect(try await shop.database.number("SELECT in_flight FROM carillon.app_status") == 1200)
        var metrics = MetricsText()
        let apps = try await AppStatus.all(from: shop.database.connection)
        metrics.merge(WorkerMetrics(counters: WorkerCounters(), reading: .init(apps: apps)).measurements)
        #expect(metrics.text.contains("carillon_scheduled_jobs{app=\"shop\"} \(number)\n"))

        let shown = pages.split(separator: " ").last?.filter(\.isNumber) ?? ""
        let precision = pages.hasPrefix("at least") ? "at least" : "exact"
        try await DashboardClient.with(shop.database.url, in: shop.folder) { client, _ in
            for path in ["/", "/apps", "/apps/shop"] {
                let page = await client.get(path, json: true).body
                #expect(page.contains("\"scheduled\":\(shown),\"scheduled_precision\":\"\(precision)\""), "\(page)")
                #expect(page.contains("\"in_flight\":1200,"), "\(page)")
                let html = await client.get(path).body
                #expect(html.contains(">\(pages)<") && html.contains(">1,200<"), "\(path)")
            }
            let overview = await client.get("/", json: true).body
            #expect(overview.contains("\"in_flight\":1200,\"in_flight_precision\":\"exact\""), "\(overview)")
        }
    }

    private func line(of worker: String, _ shop: Shop) async throws -> [String] {
        let text = try await shop.run("status").output
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(worker) }, "\(text)")
        return line.split(separator: " ").map(String.init)
    }
}
