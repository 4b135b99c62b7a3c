import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Lists of the legacy feedback service, which sends each device token once: none that was read may be lost.
@Suite struct LegacyFeedbackCases {
    /// A scene whose app has a feedback gateway with that many dead tokens.
    private func with(
        dead count: Int,
        _ configure: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (Scene) async throws -> Void
    ) async throws {
        try await Scene.with({
            $0.feedbackPort = 0
            try configure(&$0)
        }) { scene in
            let port = try #require(scene.simulator.feedbackPort)
            try await scene.client.run("UPDATE carillon.apps SET feedback_gateway = 'localhost:\(port)'")
            try await scene.client.run(
                """
                INSERT INTO carillon.tokens (app_id, token, last_update)
                SELECT 1, lpad(to_hex(n), 64, '0'), now() - interval '1 day' FROM generate_series(1, \(count)) n
                """
            )
            for number in 1...count { scene.simulator.reportDead(try DeadToken(Scene.token("", number))) }
            try await scene.register([Self.live])
            try await body(scene)
        }
    }

    private static let live = Scene.token("aa", 1)

    /// Waits until that many device tokens have feedback, once or more often, and none of them is registered any more.
    private func areReaped(_ count: Int, in scene: Scene) async throws {
        try await scene.eventually("\(count) tokens were heard of") {
            try await scene.client.number(
                "SELECT count(DISTINCT f.token) FROM carillon.feedback f WHERE f.source = 'binary' AND f.handled_at IS NOT NULL"
            ) == count
        }
        #expect(try await scene.registered() == [Self.live])
    }

    @Test
    func `F2: the first half of a legacy list that breaks off is kept, and the next pass gets the rest`() async throws {
        // A tuple has 38 bytes.
        try await with(dead: 1000, { $0.feedbackCutAfter = 500 * 38 + 20 }) { scene in
            let worker = try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await worker.says("could not be read to its end")
            try await areReaped(1000, in: scene)
            try await worker.says(#""tokens":500"#, times: 2)
            #expect(worker.lines(containing: #""tokens":500"#).count == 2, "half of it each time")
            try await scene.eventually("the error is over") {
                try await scene.status("feedback_error") == ""
            }
            try await scene.enqueue(10)
            try await scene.finish()
        }
    }

    @Test func `F2: a legacy list continues when the database is lost while it is read`() async throws {
        try await with(dead: 5000) { scene in
            try await scene.withProxy { proxy, url in
                let worker = try scene.fleet.start(Scene.reaping, lease: Fleet.calm, database: url)
                try await worker.started()
                // While it writes what it has read.
                await proxy.cut(.up, afterBytes: 150_000)
                try await areReaped(5000, in: scene)
                let cuts = await proxy.cuts
                #expect(cuts == 1)
                let statistics = await scene.simulator.statistics()
                #expect(statistics.deadTokensTold == 5000, "each was told once")
                try await scene.enqueue(10)
                try await scene.finish()
            }
        }
    }

    @Test func `F2: a worker that is told to stop reads a legacy list to its end first`() async throws {
        try await with(dead: 5000) { scene in
            try await scene.client.session { session in
                try await session.script("BEGIN; LOCK TABLE carillon.feedback IN SHARE ROW EXCLUSIVE MODE")
                let worker = try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
                try await scene.waitsForLock("SELECT carillon.keep_feedback")
                worker.terminate()
                try await worker.says("Stopping")
                try await session.script("COMMIT")
                #expect(try await worker.end() == .status(0))
            }
            #expect(try await scene.client.number("SELECT count(DISTINCT f.token) FROM carillon.feedback f") == 5000)
            try await scene.fleet.started(Scene.reaping, lease: Fleet.calm)
            try await areReaped(5000, in: scene)
            try await scene.finish()
        }
    }

    @Test func `F2: apps with one certificate share all tokens of its one list`() async throws {
        try await with(dead: 100) { scene in
            try await scene.client.run(
                """
                INSERT INTO carillon.apps (name, topic, certificate_id, feedback_gateway, gateway_ca)
                SELECT 'twin', a.topic, a.certificate_id, a.feedback_gateway, a.gateway_ca FROM carillon.apps a
                """
            )
            let environment = ["DATABASE_URL": TestLogin.worker.url(scene.client.url)]
            let once = try await ProgramRun.run(["feedback", "--once", "--app", "twin"], environment: environment)
            #expect(once.status == 0)
            #expect(
                try await scene.client.text(
                    """
                    SELECT string_agg(a.name || ' ' || n.count, ', ' ORDER BY a.name) FROM carillon.apps a,
                        LATERAL (SELECT count(*) FROM carillon.feedback f WHERE f.app_id = a.id) n
                    """
                ) == "board 100, twin 100"
            )
        }
    }

    @Test func `F2: an unreachable feedback gateway is logged, and affects no other list and no push`() async throws {
        try await with(dead: 100) { scene in
            try await scene.client.run(
                """
                INSERT INTO carillon.apps (name, topic, certificate_id, protocol, feedback_gateway, gateway_ca)
                SELECT 'lost', a.topic, a.certificate_id, 'binary', 'localhost:1', a.gateway_ca FROM carillon.apps a;
                UPDATE carillon.apps SET feedback_gateway = NULL WHERE name = 'board';
                INSERT INTO carillon.apps (name, topic, certificate_id, protocol, feedback_gateway, gateway_ca)
                SELECT 'listed', a.topic, a.certificate_id, 'binary', 'localhost:\(scene.simulator.feedbackPort ?? 0)',
                    a.gateway_ca FROM carillon.apps a WHERE a.name = 'board'
                """
            )
            let environment = ["DATABASE_URL": TestLogin.worker.url(scene.client.url)]
            let once = try await ProgramRun.run(["feedback", "--once"], environment: environment)
            #expect(once.status == 1, "a list that could not be read is a failure")
            #expect(once.errors.contains("There is no connection to localhost:1"))
            #expect(
                try await scene.client.text(
                    "SELECT string_agg(a.name || ' ' || (a.feedback_error IS NULL), ', ' ORDER BY a.id) FROM carillon.apps a"
                ) == "board true, lost false, listed true"
            )
            #expect(
                try await scene.client.text(
                    """
                    SELECT (count(*), min(a.name), max(a.name)) FROM carillon.feedback f
                    JOIN carillon.apps a ON a.id = f.app_id WHERE f.source = 'binary'
                    """
                ) == "(100,listed,listed)"
            )
            try await scene.fleet.started(Scene.neverReaping, lease: Fleet.calm)
            try await scene.enqueue(10)
            try await scene.finish()
        }
    }
}
