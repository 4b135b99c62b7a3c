import ApplePush
import CarillonPushQueue
import TestSupport
import Testing

/// When a message was enqueued and which worker finished it, which its row of results says.
@Suite(.queue) struct ResultRowTests {
    /// The time of the message with that number.
    private static func time(_ number: Int) -> String { "2026-01-01 00:00:0\(number)+00" }

    private static let results = """
        SELECT r.message_id, r.sent, r.failed, r.expired, r.cancelled, r.created_at, r.worker_id IS NOT NULL
        FROM carillon.results r ORDER BY 1
        """

    /// A message for each row: tokens, its `expires_at`, and its `run_at` if it is scheduled.
    private func fill(_ queue: TestQueue, _ messages: [(tokens: String, more: String)]) async throws {
        for (number, message) in messages.enumerated() {
            try await queue.database.run(
                """
                INSERT INTO carillon.messages (app_id, id, tokens, payload, created_at, expires_at)
                VALUES (1, \(number + 101), '{\(message.tokens)}', '{"aps":{}}', '\(Self.time(number + 1))', \(message.more))
                """
            )
        }
    }

    @Test func `a row of results keeps both, whether the message ended at once, in parts, unsent or cancelled`()
        async throws
    {
        try await fill(
            queue,
            [("aa01", "NULL"), ("aa02", "'2026-01-01Z'"), ("zz", "NULL"), ("510001,aa04", "NULL"), ("510002", "NULL")]
        )
        let backend = RemainderBackend()
        let worker = queue.worker(backend)
        _ = try await queue.running(worker) {
            try await queue.loop.eventually("the fast ones are settled") {
                try await queue.database.rows(
                    "SELECT (SELECT count(*) FROM carillon.results), (SELECT count(*) FROM carillon.unfinished)"
                ) == ["(3,1)"]
            }
            #expect(
                try await queue.database.rows("SELECT message_id, created_at FROM carillon.unfinished") == [
                    #"(104,"\#(Self.time(4))")"#
                ]
            )
            backend.release()
            worker.drain()
        }
        try await queue.database.run("SELECT carillon.enqueue('app', '{aa06,aa07}', 'x', run_at => '2100-01-01Z')")
        let late = try await queue.database.number("SELECT max(id) FROM carillon.scheduled")
        try await queue.database.run("UPDATE carillon.scheduled SET created_at = '\(Self.time(6))'")
        #expect(try await queue.database.number("SELECT carillon.cancel(\(late))") == 1)
        let ended = [(1, "1,0,0,0"), (2, "0,0,1,0"), (3, "0,1,0,0"), (4, "2,0,0,0"), (5, "1,0,0,0")]
        #expect(
            try await queue.database.rows(Self.results)
                == [#"(\#(late),0,0,0,2,"\#(Self.time(6))",f)"#]
                + ended.map { #"(\#(100 + $0.0),\#($0.1),"\#(Self.time($0.0))",t)"# }
        )
        let status = "SELECT s.created_at FROM carillon.message_status"
        for number in 1...5 {
            #expect(
                try await queue.database.rows("\(status)(\(100 + number)) s") == [#"("\#(Self.time(number))")"#]
            )
        }
    }
}
