import CarillonPostgres
import TestSupport
import Testing

@testable import Carillon

/// `carillon trace`, of pushes that really were sent, refused and held.
@Suite struct TraceCommandTests {
    @Test func `a trace says what became of the pushes of a person, a reference and a message`() async throws {
        try await Shop.with(answers: ["dead=410:Unregistered"]) { shop in
            let (good, dead) = (Shop.token("aa"), Shop.token("dead"))
            try await shop.database.run(
                """
                SELECT carillon.register_token('shop', '\(good)', 'u-42'), carillon.register_token('shop', '\(dead)', 'u-42');
                SELECT carillon.enqueue('shop', '{\(good)}', 'hi', reference => 'order 7'),
                    carillon.enqueue('shop', '{\(dead)}', 'hi', reference => 'order 8')
                """
            )
            #expect(try await shop.drain().status == 0)
            let sent = try await shop.run("trace", "shop", "--reference", "order 7")
            let lines = sent.output.split(separator: "\n")
            #expect(sent.status == 0 && lines.count == 2, "\(sent)")
            #expect(lines.first?.contains("Z  enqueued to 1 token, with the reference order 7 (message ") == true)
            #expect(lines.last?.contains(/^[0-9-]+T[0-9:]+Z  accepted by Apple \(message [0-9]+\)$/) == true, "\(sent)")

            let person = try await shop.run("trace", "shop", "--owner", "u-42", "--since", "1h")
            #expect(person.status == 0, "\(person)")
            for part in [
                "last registered (token \(good))", "refused by Apple: 410 Unregistered (message ",
                "Not known:  a push that was accepted, expired, cancelled or replaced is not kept by its token",
                "\nUnregistered: The app was removed",
            ] {
                #expect(person.output.contains(part), "\(part): \(person.output)")
            }
            let token = try await shop.run("trace", "shop", "--token", dead, "--json")
            #expect(token.output.hasPrefix("[{\"at\":\"20") && !token.output.contains("\"reason\":null"), "\(token)")
            #expect(token.output.contains("\"event\":\"failed\",\"what\":\"refused by Apple: 410 Unregistered\""))
        }
    }

    @Test(.shop) func `a trace of a message that does not exist fails, and so does one of two things`() async throws {
        let nothing = try await shop.run("trace", "shop", "--message", "4711")
        #expect(
            nothing.status == 1 && nothing.output.contains("no message of this app: enqueue returned null"),
            "\(nothing)"
        )
        for words in [["shop"], ["shop", "--owner", "u", "--message", "1"]] {
            let run = try await shop.run(["trace"] + words)
            #expect(run.status == 2 && run.errors.contains("takes exactly one of --owner"), "\(run)")
        }
        let stranger = try await shop.run("trace", "shoop", "--owner", "u")
        #expect(stranger.status != 0 && stranger.errors.contains("shop"), "\(stranger)")
    }

    @Test(.shop) func `a trace reads as many rows as it is told, and says if there are more`() async throws {
        try await shop.database.run(
            """
            INSERT INTO carillon.scheduled (id, app_id, tokens, payload, run_at)
            SELECT 900 + n, 1, '{aa}', '{}', now() + interval '1 day' FROM generate_series(1, 2) n
            """
        )
        for (depth, isCut) in [("1", true), ("2", false)] {
            let run = try await shop.run("trace", "shop", "--reference", "r", "--max-rows-read", depth)
            #expect(run.output.contains("a higher max_rows_read reads more") == isCut, "\(run)")
        }
    }
}
