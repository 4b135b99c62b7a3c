import ApplePush
import CarillonIO
import CarillonPushQueue
import TestSupport
import Testing

@Suite(.queue) struct DrainTests {
    @Test func `a row is sent once and leaves a row of results`() async throws {
        try await queue.database.run(
            #"INSERT INTO carillon.messages (app_id, tokens, payload) VALUES (1, '{aa01}', '{"aps":{"alert":"Hi"}}')"#
        )
        let backend = RecordedBackend()
        let report = try await queue.drain(backend)
        #expect(report.isClean)
        #expect(report.counters.total.sent == 1)
        #expect(backend.sent.map(\.token) == ["aa01"])
        #expect(backend.sent.map(\.payload) == [#"{"aps":{"alert":"Hi"}}"#])
        #expect(backend.sent.map(\.topic) == ["org.example.app"])
        #expect(
            try await queue.database.rows(
                "SELECT message_id, app_id, sent, failed, expired, attempts FROM carillon.results"
            )
                == ["(1,1,1,0,0,1)"]
        )
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.messages") == 0)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.inflight") == 0)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.workers") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `a worker whose loop has stopped ends, and says that it left something behind`() async throws {
        let report = try await TestLoop.with { loop in
            let worker = Worker(queue.options, backend: RecordedBackend(), loop: loop)
            return try await queue.running(worker) {
                try await queue.loop.eventually("it has begun") { worker.counters.isConnected }
                loop.stop()
            }
        }
        #expect(!report.isClean)
        #expect(try await queue.database.number("SELECT count(*) FROM carillon.workers") == 1)
    }
}
