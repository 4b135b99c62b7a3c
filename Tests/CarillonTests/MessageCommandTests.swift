import Postgres
import TestSupport
import Testing

@testable import Carillon

/// `message show` and `message cancel`, of messages that were cut into several jobs.
@Suite struct MessageCommandTests {
    private static let enqueue = """
        SELECT carillon.enqueue('shop', ARRAY(SELECT lpad(to_hex(n), 64, '0') FROM generate_series(1, 2500) n), 'hi')
        """

    @Test func `the id of a part cancels the whole message, and nothing is said to be in flight`() async throws {
        try await Shop.with { shop in
            let id = try await shop.number(Self.enqueue)
            let run = try await shop.run("message", "cancel", "\(id + 1)")
            #expect(run.status == 0 && run.errors == "", "\(run.errors)")
            #expect(run.output == "Cancelled 3 jobs of message \(id).\n")
            let again = try await shop.run("message", "cancel", "\(id + 2)")
            #expect(again.status == 1 && again.errors.contains("Message \(id) has ended"), "\(again.errors)")
        }
    }
}
