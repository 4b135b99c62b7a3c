import ApplePush
import Postgres
import PushQueue
import TestSupport
import Testing

@Suite struct DatabaseLossTests {
    private func fill(_ queue: Queue, rows: Int) async throws {
        try await queue.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, ARRAY[lpad(to_hex(m), 64, '0')], '{"aps":{}}' FROM generate_series(1, \(rows)) AS m
            """
        )
    }

    private let cut = """
        SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.application_name LIKE 'carillon%'
        """

    @Test func `outcomes are kept while the connection is gone, and settled once it is back`() async throws {
        try await Queue.with { queue in
            try await self.fill(queue, rows: 100)
            let backend = GateBackend()
            let worker = queue.worker(backend) { options in
                options.once = true
                options.maxInFlight = 60
            }
            let report = try await queue.running(worker) {
                for await _ in backend.arrivals { break }
                try await queue.run(self.cut)
                backend.open()
            }
            #expect(report.isClean)
            #expect(report.counters.databaseErrors > 0)
            #expect(backend.recorded.sent.count == 100)
            #expect(Set(backend.recorded.sent.map(\.id)).count == 100)
            #expect(try await queue.number("SELECT sum(sent) FROM carillon.results") == 100)
            #expect(try await queue.number("SELECT count(*) FROM carillon.inflight") == 0)
        }
    }

    @Test func `connections cut again and again lose nothing and settle nothing twice`() async throws {
        try await Queue.with { queue in
            try await self.fill(queue, rows: 3000)
            let backend = GateBackend()
            backend.open()
            let worker = queue.worker(backend) { $0.maxInFlight = 60 }
            let cutting = Task {
                var batches = 0
                for await _ in backend.arrivals {
                    batches += 1
                    if batches % 60 == 30 { try await queue.run(self.cut) }
                    if batches == 270 { return }
                }
            }
            let report = try await queue.running(worker) {
                try await cutting.value
                // All was cut that will be: what is settled after that was written over a connection that lasts.
                try await self.fill(queue, rows: 1)
                try await queue.loop.eventually("all is settled") {
                    try await queue.number("SELECT coalesce(sum(sent), 0) FROM carillon.results") == 3001
                }
                worker.drain()
            }
            #expect(report.isClean)
            #expect(report.counters.databaseErrors > 0)
            #expect(Set(backend.recorded.sent.map(\.id)).count == 3001)
            #expect(try await queue.number("SELECT sum(sent) FROM carillon.results") == 3001)
            #expect(try await queue.number("SELECT count(DISTINCT message_id) FROM carillon.results") == 3001)
        }
    }
}
