import ApplePushSimulator
import CarillonPostgres
import Testing

/// Cancelling messages at each stage.
@Suite struct CancelCases {
    @Test func `P9: pushes in flight cannot be cancelled, and waiting ones can`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "51=silence*1")] }) { scene in
            try await scene.fleet.started(["--max-in-flight", "10"])
            let inFlight = scene.message(prefix: "51")
            let first = try await scene.enqueue(inFlight)
            try await scene.requests(1)
            #expect(try await scene.client.number("carillon.cancel(\(first))") == 0)
            #expect(try await scene.client.number("carillon.cancel_broadcast(\(first))") == 0)
            #expect(try await scene.client.number("SELECT count(*) FROM carillon.results") == 0)
            let later = scene.message(tokens: 3)
            let second = try await scene.enqueue(later, [("run_at", "now() + interval '1 hour'")])
            #expect(try await scene.client.number("carillon.cancel(\(second))") == 1)
            #expect(try await scene.client.number("carillon.cancel(\(second))") == 0)
            // Its outcome is unknown; but it is cancelled, and so it is not sent again.
            for worker in scene.fleet.all { worker.kill() }
            try await scene.fleet.started()
            let audit = try await scene.finish()
            #expect(audit.outcomes.results[inFlight.reference]?.map(\.cancelled) == [1])
            #expect(audit.outcomes.results[later.reference]?.map(\.cancelled) == [3])
            #expect(audit.sightings[later.tokens[0]] == nil)
        }
    }

    @Test func `P9: pushes that wait for a retry are cancelled, and those sent still count`() async throws {
        try await Scene.with({ $0.answers = [try AnswerRule(parsing: "ee=429:TooManyRequests+3600")] }) { scene in
            try await scene.fleet.started()
            let message = scene.message(tokens: 4, prefix: "ee")
            let both = Ledger.Message(
                reference: message.reference,
                tokens: message.tokens + scene.message(tokens: 3).tokens,
                payload: message.payload,
                mayRepeat: true
            )
            let id = try await scene.enqueue(both)
            try await scene.eventually("the rest waits") {
                try await scene.client.number("SELECT count(*) FROM carillon.scheduled") == 1
            }
            #expect(try await scene.client.number("carillon.cancel(\(id))") == 1)
            let audit = try await scene.finish()
            let result = try #require(audit.outcomes.results[both.reference]?.first)
            #expect(result.sent == 3 && result.cancelled == 4)
        }
    }

    @Test func `P9: with many cancels during claims each message ends once`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(5) }) { scene in
            try await scene.fleet.started(2, ["--max-in-flight", "200"])
            let count = Board.sized(2000, full: 20_000)
            // The queue lasts for 20 seconds, so that the cancels find messages in it on any machine.
            try await scene.client.run("UPDATE carillon.apps SET max_rate = \(count / 20)")
            try await scene.enqueue(count)
            try await scene.requests(count / 20)
            // Every third of those that are left, one statement each, from two sessions at once.
            let work = """
                DO $$ DECLARE id bigint; BEGIN
                    FOR id IN SELECT m.id FROM carillon.messages m WHERE m.id % 3 = 0 ORDER BY m.id DESC LOOP
                        PERFORM carillon.cancel(id); COMMIT;
                    END LOOP;
                END $$
                """
            async let one: Void = scene.client.session { try await $0.script(work) }
            async let other: Void = scene.client.session { try await $0.script(work) }
            _ = try await (one, other)
            try await scene.client.run("UPDATE carillon.apps SET max_rate = NULL")
            let audit = try await scene.finish()
            let cancelled = audit.outcomes.results.values.joined().reduce(0) { $0 + $1.cancelled }
            #expect(cancelled > 0)
            // What was sent was not cancelled, and vice versa.
            #expect(scene.record.requests + cancelled == count)
        }
    }

    @Test func `P9: a broadcast that is cancelled half way stops within a second`() async throws {
        try await Scene.with({ $0.delay = .milliseconds(20) }) { scene in
            let count = Board.sized(10_000, full: 1_000_000)
            try await scene.client.run(
                """
                INSERT INTO carillon.tokens (app_id, token)
                SELECT a.id, lpad(to_hex(n), 64, '0') FROM carillon.apps a, generate_series(1, \(count)) n;
                -- It lasts for ten seconds at least, so that there is something to cancel on any machine.
                UPDATE carillon.apps SET max_rate = \(count / 10)
                """
            )
            try await scene.fleet.started(2, ["--max-in-flight", "500"])
            let id = try await scene.client.number("carillon.broadcast('board', 'Board')")
            try await scene.requests(min(count / 4, 50_000))
            let jobs = try await scene.client.number("carillon.cancel_broadcast(\(id))")
            let end = try await scene.client.number("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)")
            #expect(jobs > 0)
            try await scene.drained()
            let last = scene.record.deliveries.map(\.time).max() ?? 0
            #expect(last - Int64(end) < Board.sized(10_000, full: 1000))
            let sent = scene.record.requests
            #expect(sent < count)
            #expect(
                try await scene.client.text(
                    "SELECT (p.sent, p.failed, p.cancelled, p.waiting, p.finished) FROM carillon.broadcast_progress(\(id)) p"
                ) == "(\(sent),0,\(count - sent),0,t)"
            )
            #expect(Set(scene.record.deliveries.map(\.token)).count == sent)
            #expect(try await scene.client.number("carillon.cancel_broadcast(\(id))") == 0)
            #expect(try await scene.fleet.stop() == [])
        }
    }
}
