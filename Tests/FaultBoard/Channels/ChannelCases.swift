import ApplePushSimulator
import CarillonIO
import CarillonPostgres
import TestSupport
import Testing

/// Channels of Live Activities: one that Apple has created and nobody has recorded, and one that is gone when it is used.
@Suite struct ChannelCases {
    private func with(
        _ configure: (inout SimulatorConfiguration) throws -> Void = { _ in },
        _ body: (Scene) async throws -> Void
    ) async throws {
        try await Scene.with({
            $0.channelPort = 0
            try configure(&$0)
        }) { scene in
            let port = try #require(scene.simulator.channelPort)
            try await scene.client.run("UPDATE carillon.apps SET channel_gateway = 'localhost:\(port)'")
            try await body(scene)
        }
    }

    private static let request = "SELECT carillon.request_channel('\(Scene.app)', 0, 'match')"

    private func isReady(in scene: Scene) async throws {
        try await scene.eventually("the channel is ready") {
            try await scene.client.text("SELECT state FROM carillon.channels") == "ready"
        }
    }

    private func channels(of scene: Scene) -> [String] { scene.simulator.channels(of: Scene.topic) }

    private func sync(_ scene: Scene, _ options: String...) async throws -> String {
        let words = ["channel", "sync", "--app", Scene.app] + options
        let environment = ["DATABASE_URL": TestLogin.worker.url(scene.client.url)]
        return try await ProgramRun.run(words, environment: environment).output
    }

    @Test
    func `C1: a worker that dies between Apple's creation and the record leaves no channel for ever`() async throws {
        // Apple makes the channel, and the answer does not come.
        try await with({ $0.answers = [try AnswerRule(parsing: "create=silence*1")] }) { scene in
            try await scene.client.run(Self.request)
            let victim = try await scene.fleet.started()
            try await scene.eventually("Apple made the channel") { channels(of: scene).count == 1 }
            let orphan = try #require(channels(of: scene).first)
            victim.kill()
            _ = try await victim.end()
            #expect(try await scene.client.text("SELECT request_is_open::text FROM carillon.channels") == "true")
            // Another worker takes the request over after a minute.
            try await scene.client.run("UPDATE carillon.channels SET next_attempt_at = now()")
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await isReady(in: scene)
            let known = try await scene.client.text("SELECT channel_id FROM carillon.channels")
            #expect(channels(of: scene) == [orphan, known])
            // Nothing shows that the other channel is ours, so it stays until an operator has it removed.
            let told = try await sync(scene, "--remove-unknown")
            #expect(told.contains("1 channel ready, 0 missing at Apple, 1 unknown, 0 removed."), "\(told)")
            #expect(channels(of: scene) == [orphan, known])
            try await scene.client.run("UPDATE carillon.unknown_channels SET first_seen_at = now() - interval '2 days'")
            #expect(try await sync(scene).contains("1 unknown, 0 removed"))
            #expect(try await sync(scene, "--remove-unknown").contains("0 unknown, 1 removed."))
            #expect(channels(of: scene) == [known])
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.unknown_channels") == 0)
            #expect(try await worker.stop() == .status(0))
        }
    }

    @Test func `C2: a channel whose record comes too late is known to be ours, and removed by the daily comparison`()
        async throws
    {
        try await with { scene in
            let late = try scene.simulator.addChannel(to: Scene.topic)
            let foreign = try scene.simulator.addChannel(to: Scene.topic)
            try await scene.client.run(Self.request)
            try await scene.client.run("SELECT carillon.take_channels(1)")
            try await scene.client.run("UPDATE carillon.channels SET next_attempt_at = now()")
            try await scene.fleet.started(lease: Fleet.calm)
            try await isReady(in: scene)
            try await scene.client.run("SELECT carillon.channel_made(1, 'match', 1, '\(late)')")
            try await scene.client.run("UPDATE carillon.fleet_tasks SET next_run = now() WHERE name = 'channel_lists'")
            try await scene.eventually("it was removed") { !channels(of: scene).contains(late) }
            #expect(channels(of: scene).contains(foreign) && channels(of: scene).count == 2)
        }
    }

    @Test
    func `C3: updates that wait when their channel is deleted fail with the reason, and no device token is deleted`()
        async throws
    {
        try await with { scene in
            try await scene.client.run(Self.request)
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await isReady(in: scene)
            let channel = try #require(channels(of: scene).first)
            try await scene.register([Scene.token("aa", 1)])
            try await scene.client.run("UPDATE carillon.apps SET paused = true")
            try await scene.client.run(
                """
                SELECT carillon.publish('\(Scene.app)', 'match', json_build_object('score', n)::jsonb)
                FROM generate_series(1, 20) n
                """
            )
            scene.simulator.removeChannel(channel, of: Scene.topic)
            try await scene.client.run("UPDATE carillon.apps SET paused = false")
            try await scene.drained()
            #expect(
                try await scene.client.text(
                    """
                    SELECT count(*) || ' ' || (SELECT sum(r.cancelled) FROM carillon.results r) || ' ' || min(f.status) || ' ' || min(f.reason) || ' ' || min(carillon.token_text(f.token))
                    FROM carillon.failures f
                    """
                ) == "1 19 400 ChannelNotRegistered \(channel)"
            )
            // The channel is marked, so that the next call of publish fails.
            #expect(try await scene.client.text("SELECT state FROM carillon.channels") == "missing")
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.feedback") == 0)
            #expect(try await scene.registered() == [Scene.token("aa", 1)])
            #expect(try await scene.client.text("SELECT paused::text FROM carillon.apps") == "false")
            #expect(try await worker.stop() == .status(0))
        }
    }

    @Test func `C4: a channel service that answers with a reason nobody knows ends no worker`() async throws {
        try await with({ $0.answers = [try AnswerRule(parsing: "create=400:SomethingNew")] }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.client.run(Self.request)
            try await scene.eventually("the refusal is recorded") {
                try await scene.client.text("SELECT coalesce(max(c.last_error), '') FROM carillon.channels c")
                    .contains("SomethingNew")
            }
            try await scene.enqueue(10)
            try await scene.drained()
            #expect(try await scene.client.number("SELECT sum(r.sent) FROM carillon.results r") == 10)
            #expect(try await worker.stop() == .status(0))
        }
    }
}
