import ApplePushSimulator
import CarillonIO
import Glibc
import Testing

/// Workers that are told to stop.
@Suite struct StoppingCases {
    @Test func `W3: a worker told to stop under load settles its pushes and leaves nothing behind`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(50) }) { scene in
            let worker = try await scene.fleet.started(["--max-in-flight", "500"], lease: Fleet.calm)
            try await scene.underLoad {
                try await scene.requests(Board.sized(1500, full: 10_000))
                #expect(try await worker.stop() == .status(0))
            }
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.workers") == 0)
            // What it had sent was settled; the next worker sends the rest.
            let sent = try await scene.client.number("SELECT coalesce(sum(r.sent), 0) FROM carillon.results r")
            #expect(sent == scene.record.requests)
            try await scene.fleet.started(lease: Fleet.calm)
            try await scene.finish()
        }
    }

    @Test(arguments: [SIGHUP, SIGQUIT])
    func `W20: a worker whose terminal closes under load drains, as on SIGTERM`(number: CInt) async throws {
        try await Scene.with({ $0.delay = .milliseconds(50) }) { scene in
            let worker = try await scene.fleet.started(["--max-in-flight", "500"], lease: Fleet.calm)
            try await scene.underLoad {
                try await scene.requests(1000)
                worker.signal(number)
                #expect(try await worker.end() == .status(0))
            }
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.workers") == 0)
            try await scene.fleet.started(lease: Fleet.calm)
            try await scene.finish()
        }
    }

    @Test func `W21: while a gateway refuses pushes for now, each says why it waits, and all are delivered in the end`()
        async throws
    {
        let rule = try AnswerRule(parsing: "51=503:ServiceUnavailable*6")
        try await Scene.with({ $0.answers = [rule] }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.enqueue(200, prefix: "51")
            try await scene.eventually("pushes wait for another attempt") {
                let silent = "SELECT count(*) FROM carillon.pending WHERE attempt > 1 AND last_reason IS NULL"
                #expect(try await scene.client.number(silent) == 0)
                let known =
                    "SELECT count(*) FROM carillon.pending WHERE last_status = 503 AND last_reason LIKE 'Service%'"
                return try await scene.client.number(known) > 0
            }
            try await scene.drained()
            #expect(worker.lines(containing: "Pushes will be retried.").count >= 1)
            #expect(try await worker.metric("carillon_retries_total") == 1200)
            try await scene.finish()
        }
    }

    @Test
    func `W4: a worker told to stop while its gateway hangs ends in time, and gives its claims back`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "51=silence*1")] }) { scene in
            let worker = try await scene.fleet.started(
                ["--drain-timeout", "1s"],
                lease: Fleet.calm
            )
            try await scene.hang(300)
            let begin = MonotonicInstant.now
            #expect(try await worker.stop() == .status(75))
            let took = MonotonicInstant.now - begin
            #expect(took >= .seconds(1) && took < Board.sized(.seconds(15), full: .seconds(3)))
            #expect(worker.lines(containing: "\"unknown\":300").count == 1)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.pending") == 300)
            try await scene.fleet.started(lease: Fleet.calm)
            try await scene.finish()
        }
    }

    @Test func `W5: a worker told twice to stop ends at once, and all its jobs can be claimed`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "51=silence*1")] }) { scene in
            let worker = try await scene.fleet.started(lease: Fleet.calm)
            try await scene.hang(300)
            worker.terminate()
            try await worker.says("waiting for the answers")
            let begin = MonotonicInstant.now
            #expect(try await worker.stop() == .status(75))
            #expect(MonotonicInstant.now - begin < Board.sized(.seconds(10), full: .seconds(1)))
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.inflight") == 0)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.pending") == 300)
            try await scene.fleet.started(lease: Fleet.calm)
            try await scene.finish()
        }
    }
}

extension Scene {
    /// Waits until that many pushes hang at the gateway, which does not answer the first attempt of device tokens with the prefix
    /// 51. A new connection gets few pushes, so others come first.
    fileprivate func hang(_ count: Int) async throws {
        try await enqueue(count)
        try await drained()
        try await enqueue(count, prefix: "51")
        try await requests(count * 2)
    }
}
