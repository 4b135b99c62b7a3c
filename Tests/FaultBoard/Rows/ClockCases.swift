import ApplePushSimulator
import CarillonIO
import TestSupport
import Testing

/// Times of messages, and wrong clocks. The database's clock decides.
@Suite struct ClockCases {
    private static let later = [(argument: "run_at", value: "now() + interval '1 day'")]

    @Test(.scene)
    func `P7: an expired message is not sent, whether it waited in the queue or was scheduled`() async throws {
        let over = [(argument: "expires_at", value: "now() - interval '1 s'")]
        let waiting = scene.message(tokens: 3)
        try await scene.enqueue(waiting, over)
        // It expires while no worker is running.
        let brief = scene.message(tokens: 2)
        try await scene.enqueue(
            brief,
            [("run_at", "now() + interval '100 ms'"), ("expires_at", "now() + interval '200 ms'")]
        )
        let last = try await scene.client.text("SELECT max(expires_at) FROM carillon.pending")
        try await scene.eventually("it has expired") {
            try await scene.client.text("SELECT clock_timestamp() > '\(last)'") == "true"
        }
        try await scene.enqueue(20)
        try await scene.fleet.started()
        let audit = try await scene.finish()
        for message in [waiting, brief] {
            #expect(audit.outcomes.results[message.reference]?.map(\.expired) == [message.tokens.count])
        }
        #expect(scene.record.requests == 20)
    }

    @Test(.scene) func `P7: a scheduled message is sent at its time, and not before`() async throws {
        try await scene.fleet.started()
        let far = scene.message()
        let id = try await scene.enqueue(far, Self.later)
        var due: [(token: String, time: Int64)] = []
        for milliseconds in [300, 700, 1500] {
            let message = scene.message()
            let job = try await scene.enqueue(
                message,
                [("run_at", "clock_timestamp() + interval '\(milliseconds) ms'")]
            )
            let time = try await scene.client.number(
                "SELECT floor(extract(epoch FROM s.run_at) * 1000) FROM carillon.scheduled s WHERE s.id = \(job)"
            )
            due.append((message.tokens[0], Int64(time)))
        }
        try await scene.enqueue(20)
        try await scene.requests(23)
        for (token, time) in due {
            let delivery = try #require(scene.record.deliveries.first { $0.token == token })
            #expect(delivery.time >= time, "sent \(time - delivery.time) ms too early")
            #expect(delivery.time < time + Board.sized(15_000, full: 2000))
        }
        #expect(try await scene.client.number("SELECT count(*) FROM carillon.scheduled") == 1)
        // So that the audit finds a result.
        #expect(try await scene.client.number("carillon.cancel(\(id))") == 1)
        let audit = try await scene.finish()
        #expect(audit.outcomes.results[far.reference]?.map(\.cancelled) == [1])
    }

    @Test func `P7: a push is not retried after it has expired`() async throws {
        try await Scene.with({
            $0.answers = [
                try AnswerRule(parsing: "ee=429:TooManyRequests+600"), try AnswerRule(parsing: "dd=503:Shutdown"),
            ]
        }) { scene in
            // It runs before they are enqueued, so that each is sent before it expires.
            try await scene.fleet.started()
            try await scene.client.run("UPDATE carillon.apps SET max_attempts = 30000")
            // The gateway asks for more time than the first has, and never takes the second.
            let asked = scene.message(tokens: 2, prefix: "ee")
            try await scene.enqueue(asked, [("expires_at", "now() + interval '5 minutes'")])
            let refused = scene.message(tokens: 2, prefix: "dd")
            try await scene.enqueue(
                refused,
                [("expires_at", "now() + interval '\(Board.sized("10 s", full: "1500 ms"))'")]
            )
            try await scene.enqueue(20)
            let audit = try await scene.finish()
            #expect(audit.outcomes.results[asked.reference]?.map(\.expired) == [2])
            #expect(audit.outcomes.results[refused.reference]?.map(\.expired) == [2])
            #expect(audit.sightings[asked.tokens[0]]?.refusals.count == 1)
            #expect((audit.sightings[refused.tokens[0]]?.refusals.count ?? 0) >= 1)
            let end = try await scene.client.number(
                "SELECT ceil(extract(epoch FROM r.finished_at) * 1000) FROM carillon.results r WHERE r.reference = '\(refused.reference)'"
            )
            for delivery in scene.record.deliveries where delivery.token == refused.tokens[0] {
                #expect(delivery.time <= Int64(end))
            }
        }
    }

    @Test func `P20: retries that a clock ahead has timed wait after it went back, and check says so and mends it`()
        async throws
    {
        let rule = try AnswerRule(parsing: "ee=429:TooManyRequests+600*1")
        try await Scene.with(on: .settableClock, { $0.answers = [rule] }) { scene in
            try await scene.setClock(ahead: "90 minutes")
            try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(20, prefix: "ee")
            try await scene.eventually("the retries wait, and are counted") {
                try await scene.client.text(
                    """
                    SELECT ((SELECT count(*) FROM carillon.scheduled), (SELECT sum(c.retried) FROM carillon.push_counts c))
                    """
                ) == "(20,20)"
            }
            try await Self.sendScheduled(in: scene)
            let check = { try await ProgramRun.run(["check"], environment: ["DATABASE_URL": scene.client.url]).output }
            #expect(try await check().contains("ok       retries"))

            try await scene.setClock(ahead: "0")
            let output = try await check()
            let line = output.split(separator: "\n").first { $0.hasPrefix("warning  retries") } ?? ""
            #expect(line.contains("went back by at least 1h") && line.contains("20 retries wait"), "\(output)")
            // The worker starts over with what is due by the present clock.
            try await Self.sendScheduled(in: scene)
            #expect(scene.record.requests == 22)
            // The gateway has asked for ten minutes.
            let waiting = try await scene.client.number(
                "SELECT count(*) FROM carillon.scheduled s WHERE s.run_at > clock_timestamp() + interval '1 hour'"
            )
            #expect(waiting == 20)

            let remedy = try #require(output.firstRange(of: "UPDATE carillon.scheduled"), "\(output)")
            let statement = output[remedy.lowerBound...].prefix { $0 != "\n" }
            try await scene.client.run(String(statement))
            try await scene.finish()
            #expect(scene.record.requests == 42)
            #expect(try await check().contains("ok       retries"))
        }
    }

    /// Enqueues a message for a moment later, and waits until it is sent.
    private static func sendScheduled(in scene: Scene) async throws {
        let count = scene.record.requests
        try await scene.enqueue(scene.message(), [("run_at", "clock_timestamp() + interval '100 ms'")])
        try await scene.requests(count + 1)
    }

    @Test(.enabled(if: FakeTime.isUsable, "no libfaketime (the package faketime), or a sanitizer"))
    func `P7: workers whose clocks are wrong by ten minutes do everything on time`() async throws {
        for offset in ["+10m", "-10m"] {
            try await Scene.with({
                $0.answers = [
                    try AnswerRule(parsing: "ee=503:Shutdown*2"), try AnswerRule(parsing: "aa=429:TooManyRequests+2*1"),
                ]
            }) { scene in
                let worker = try scene.fleet.start(shell: FakeTime.shell(offset))
                try await worker.started()
                // The worker has the wrong time, or this case would prove nothing.
                let now = try await scene.client.text(
                    "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI')"
                )
                #expect(!worker.said.contains("\"time\":\"\(now)"))
                let lasting = (1...20).map { _ in scene.message() }
                for message in lasting {
                    try await scene.enqueue(message, [("expires_at", "now() + interval '5 min'")])
                }
                let expired = (1...20).map { _ in scene.message() }
                for message in expired { try await scene.enqueue(message, [("expires_at", "now() - interval '1 s'")]) }
                let early = scene.message()
                let id = try await scene.enqueue(early, [("run_at", "now() + interval '5 min'")])
                let soon = scene.message()
                try await scene.enqueue(soon, [("run_at", "now() + interval '500 ms'")])
                try await scene.enqueue(20, prefix: "ee")
                try await scene.enqueue(2, prefix: "aa")
                try await scene.eventually("all but one have ended") {
                    try await scene.client.number(
                        "(SELECT count(*) FROM carillon.pending) + (SELECT count(*) FROM carillon.unfinished)"
                    ) == 1
                }
                // The worker did not count as dead, and no other did for it.
                try await scene.fleet.started()
                #expect(try await scene.client.number("SELECT count(*) FROM carillon.workers") == 2)
                #expect(try await scene.client.number("carillon.cancel(\(id))") == 1)
                let audit = try await scene.finish()
                for message in lasting + [soon] {
                    #expect(audit.outcomes.results[message.reference]?.map(\.sent) == [1], "\(offset)")
                }
                for message in expired {
                    #expect(audit.outcomes.results[message.reference]?.map(\.expired) == [1], "\(offset)")
                    #expect(audit.sightings[message.tokens[0]] == nil)
                }
                for token in Set(scene.record.deliveries.map(\.token)) where token.hasPrefix("aa") {
                    let times = scene.record.deliveries.filter { $0.token == token }.map(\.time)
                    #expect(times.count == 2 && times[1] - times[0] >= 2000, "\(offset): \(times)")
                }
            }
        }
    }
}
