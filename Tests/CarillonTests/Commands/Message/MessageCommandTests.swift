import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// `message show` and `message cancel`, of messages that were cut into several jobs.
@Suite struct MessageCommandTests {
    private static let enqueue = """
        SELECT carillon.enqueue('shop', ARRAY(SELECT lpad(to_hex(n), 64, '0') FROM generate_series(1, 2500) n), 'hi')
        """

    @Test(.shop)
    func `the id of any of its jobs cancels the whole message, and nothing is said to be in flight`() async throws {
        let id = try await shop.database.number(Self.enqueue)
        let run = try await shop.run("message", "cancel", "\(id + 1)")
        #expect(run.status == 0 && run.errors == "", "\(run.errors)")
        #expect(run.output == "Cancelled 3 jobs of message \(id).\n")
        let again = try await shop.run("message", "cancel", "\(id + 2)")
        #expect(again.status == 1 && again.errors.contains("Message \(id) has ended"), "\(again.errors)")
    }

    @Test func `the id of a retry cancels the message that it belongs to`() async throws {
        try await Shop.with(answers: ["bb=503"]) { shop in
            let tokens = ["aa", "bb"].map { "'\(Shop.token($0))'" }.joined(separator: ",")
            let id = try await shop.database.number("SELECT carillon.enqueue('shop', ARRAY[\(tokens)], 'hi')")
            #expect(try await shop.drain().status == 0)
            let retry = try await shop.database.number("SELECT s.id FROM carillon.scheduled s")
            #expect(retry != id)
            let run = try await shop.run("message", "cancel", "\(retry)")
            #expect(run.output == "Cancelled 1 job of message \(id).\n", "\(run)")
            #expect(try await shop.run("message", "show", "\(id)").output.contains("1 cancelled"))
            let gone = try await shop.run("message", "show", "\(retry)")
            #expect(gone.errors.contains("use the id that enqueue returned"), "\(gone.errors)")
        }
    }

    @Test(.shop)
    func `message cancel takes a reference, or an owner whose pushes alone are cancelled`() async throws {
        let tokens = ["aa", "bb"].map { "'\(Shop.token($0))'" }
        try await shop.database.run(
            """
            SELECT carillon.register_token('shop', \(tokens[0]), 'anna');
            SELECT carillon.enqueue('shop', ARRAY[\(tokens.joined(separator: ","))], 'x'),
                carillon.enqueue('shop', ARRAY[\(tokens[1])], 'x', reference => 'r'),
                carillon.enqueue('shop', ARRAY[\(tokens[1])], 'x', reference => 'r')
            """
        )
        let owner = try await shop.run("message", "cancel", "--owner", "anna")
        #expect(owner.status == 0 && owner.output == "Cancelled the pushes to anna in 1 job.\n", "\(owner)")
        #expect(try await shop.run("message", "cancel", "--owner", "anna").status == 1)
        let reference = try await shop.run("message", "cancel", "--reference", "r", "--app", "shop")
        #expect(reference.status == 0 && reference.output == "Cancelled 2 jobs of 2 messages.\n", "\(reference)")
        let again = try await shop.run("message", "cancel", "--reference", "r")
        #expect(again.status == 1 && again.errors.contains("The messages have ended"), "\(again.errors)")
        let id = try await shop.database.number(
            "SELECT carillon.enqueue('shop', ARRAY[\(tokens[1])], 'x', reference => 'r')"
        )
        let last = try await shop.run("message", "cancel", "--reference", "r")
        #expect(last.output == "Cancelled 1 job of message \(id); 2 others had ended.\n", "\(last)")
        #expect(try await shop.run("message", "cancel", "1", "--owner", "anna").status == 2)
        #expect(
            try await shop.database.rows("SELECT m.tokens FROM carillon.messages m") == ["({\(Shop.token("bb"))})"]
        )
    }

    @Test(.shop)
    func `pushes in flight to an owner are said to be in flight, and are not sent again`() async throws {
        try await shop.database.run(
            """
            SELECT carillon.register_token('shop', '\(Shop.token("aa"))', 'anna');
            INSERT INTO carillon.workers (id, name, lease_until) VALUES (1, 'w', now() + interval '1 minute');
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT 1, 1, ARRAY[carillon.job(id => 7,
                lane => 1::smallint, tokens => '{\(Shop.token("aa"))}', payload => '{}', created_at => now())]
            """
        )
        let run = try await shop.run("message", "cancel", "--owner", "anna")
        #expect(run.status == 0 && run.output == "", "\(run)")
        #expect(run.errors == "1 push is in flight and may arrive; it is not retried.\n", "\(run)")
        #expect(try await shop.database.number("SELECT count(*) FROM carillon.inflight WHERE stops IS NOT NULL") == 1)
        let json = try await shop.run("message", "cancel", "--owner", "anna", "--app", "shop", "--json")
        #expect(json.output == #"{"owner":"anna","jobs":0,"waiting":1,"waiting_precision":"exact"}"# + "\n", "\(json)")
        let stranger = try await shop.run("message", "cancel", "--owner", "bert")
        #expect(stranger.status == 1 && stranger.errors.contains("waits or is in flight"), "\(stranger)")
        #expect(try await shop.run("message", "cancel", "--owner", "").status == 2)
        // A trace, from which the number comes, shows 20 jobs.
        try await shop.database.run(
            """
            INSERT INTO carillon.inflight (worker_id, app_id, jobs) SELECT 1, 1, ARRAY[carillon.job(id => n,
                lane => 1::smallint, tokens => '{\(Shop.token("aa"))}', payload => '{}', created_at => now())]
            FROM generate_series(8, 40) n
            """
        )
        let many = try await shop.run("message", "cancel", "--owner", "anna")
        #expect(many.errors == "at least 20 pushes are in flight and may arrive; they are not retried.\n", "\(many)")
        let manyJSON = try await shop.run("message", "cancel", "--owner", "anna", "--json")
        #expect(manyJSON.output.contains(#""waiting":20,"waiting_precision":"at least"}"#), "\(manyJSON)")
    }

    @Test(.shop)
    func `a message of which some was sent is partly sent, and tokens that are not listed are counted`() async throws {
        let id = try await shop.database.number(Self.enqueue)
        let waiting = try await shop.run("message", "show", "\(id)").output
        #expect(waiting.contains("and 1,500 more"), "\(waiting.suffix(200))")
        try await shop.database.connection.script(
            """
            DELETE FROM carillon.messages WHERE id = \(id);
            INSERT INTO carillon.results (message_id, app_id, broadcast_id, sent)
            SELECT \(id), a.id, \(id), 1000 FROM carillon.apps a;
            SELECT carillon.cancel(\(id))
            """
        )
        let show = try await shop.run("message", "show", "\(id)").output
        #expect(show.contains("Message \(id) of shop: partly sent.") && show.contains("1,000 sent"), "\(show)")
        #expect(!show.contains("more"))
        let json = try await shop.run("message", "show", "\(id)", "--json").output
        #expect(json.contains("\"state\":\"partly sent\""), "\(json)")
    }
}
