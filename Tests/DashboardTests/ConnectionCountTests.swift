import CarillonPostgres
import TestSupport
import Testing

/// How many connections to PostgreSQL the dashboard and its API have at most, as docs/operating.md says.
@Suite struct ConnectionCountTests {
    private static let numbers = ["five", "six", "seven", "eight", "nine", "ten"]

    @Test func `pages, forms, programs and those that wait for events have seven connections at most`() async throws {
        try await Visitor.withOperator { shop, client in
            let database = shop.database
            // One token has at most one call at a time that reads, and one that changes something.
            let tokens = ["x", "y"]
            var headers: [String] = []
            for name in tokens {
                let call = "carillon.create_api_token('shop', '\(name)', rights => '{send,read}')"
                let token = try #require(try await database.value(call))
                headers.append("Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n")
            }
            try await database.run("SELECT carillon.subscribe('shop', 'c')")
            let visitor = try await Visitor(client)
            let api = "/v1/apps/shop"
            // It listens on one of them.
            let waited = await client.get("\(api)/events?consumer=c&wait=1", headers: headers[0])
            #expect(waited.status == "200", "\(waited.head)")
            let form = "form_token=\(visitor.token)&reason=x"
            let length = "Content-Length: \(form.utf8.count)\r\n"
            let requests = [
                ("GET /apps", "", ""), ("POST /apps/shop/pause", visitor.headers + length, form),
            ]
            let calls = headers.flatMap {
                [("GET \(api)/channels", $0, ""), ("POST \(api)/cancel", $0 + "Content-Length: 2\r\n", "{}")]
            }
            // Each statement waits for a lock, so that every request wants a connection of its own.
            let port = client.port
            try await database.session { other in
                try await other.run("BEGIN; LOCK TABLE carillon.apps IN ACCESS EXCLUSIVE MODE")
                await withTaskGroup(of: Void.self) { group in
                    for (line, headers, body) in requests + requests + requests + requests + calls + calls {
                        group.addTask { _ = await RawHTTP.ask(port, line, headers: headers, body: body) }
                    }
                }
                try await other.run("ROLLBACK")
            }
            let sessions = try await database.number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE application_name = 'carillon web' AND datname = current_database()
                """
            )
            let page = try GeneratedPage("docs/operating.md").text.replacing("\n", with: " ")
            #expect(page.contains("and `--web` up to \(Self.numbers[sessions - 5])."), "\(sessions)")
            #expect(page.contains(", \(Self.numbers[sessions - 5]) more with `--web`,"), "\(sessions)")
        }
    }
}
