import ApplePush
import CarillonIO
import CarillonPushQueue
import TestSupport
import Testing

@Suite(.queue) struct DrainTests {
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
