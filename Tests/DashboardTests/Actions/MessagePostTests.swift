import CarillonPostgres
import FoundationEssentials
import TestSupport
import Testing

/// `POST /messages`: what programs enqueue with a token, and what they are told when it is refused.
@Suite struct MessagePostTests {
    private typealias Client = DashboardClient

    @Test func `a program enqueues with a token of its app, once for each key`() async throws {
        try await Visitor.withOperator([]) { shop, client in
            let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
            let changes = "SELECT count(*) FROM carillon.audit"
            let changesBefore = try await shop.database.number(changes)
            let body = #"{"tokens": ["\#(Shop.token("a0"))"], "alert": "hi", "reference": "order 7"}"#
            func post(_ body: String, token: String = token, key: String? = nil, type: String = "application/json")
                async -> Client.Answer
            {
                let key = key.map { "Idempotency-Key: \($0)\r\n" } ?? ""
                let headers = "Authorization: Bearer \(token)\r\nContent-Type: \(type)\r\n\(key)"
                return await client.post("/messages", body, headers: headers)
            }
            let first = await post(body, key: "k1")
            #expect(first.status == "201" && first.body.contains("\"is_new\":true"), "\(first.head)\(first.body)")
            #expect(first.header("Location")?.hasPrefix("/messages/") == true)
            let again = await post(body, key: "k1")
            #expect(again.status == "200" && again.body.contains("\"is_new\":false"))
            #expect(again.header("Location") == first.header("Location"))
            let other = await post(body.replacing("hi", with: "ho"), key: "k1")
            #expect(other.status == "422" && other.body.contains("a different body"), "\(other.head)\(other.body)")
            #expect(other.header("Content-Type") == "application/problem+json")
            #expect(await post(body).status == "201")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 2)
            let refused: [(Client.Answer, String)] = [
                (await post(body, token: "carillon_no"), "401"), (await post("{", token: "carillon_no"), "401"),
                (await client.post("/messages", body, headers: "Content-Type: application/json\r\n"), "401"),
                (await post("{"), "400"), (await post("[]"), "400"), (await post(#"{"app": "other"}"#), "400"),
                (await post(#"{"tokens": [], "alert": "hi"}"#), "400"),
                (await post(#"{"tokens": ["aa"]}"#), "400"), (await post(#"{"tokens": "aa", "alert": "x"}"#), "400"),
                (await post(#"{"tokens": ["aa"], "alert": "\u0000"}"#), "400"),
                (await post(#"{"\#(String(repeating: "\u{301}\u{323}", count: 500))": 1}"#), "400"),
                (await post(body, key: String(repeating: "k", count: 256)), "400"),
                (await post(body, type: "text/plain"), "415"),
                (await post(String(repeating: "x", count: 300_000)), "413"),
            ]
            for (answer, status) in refused {
                #expect(answer.status == status, "\(status): \(answer.head)\(answer.body)")
                #expect(answer.header("Content-Type") == "application/problem+json" && Client.isJSON(answer.body))
            }
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 2)
            // What programs enqueue is not recorded as a change.
            #expect(try await shop.database.number(changes) == changesBefore)
            #expect(!client.program.said.contains(token))
        }
    }

    @Test func `a program is told that devices do nothing with its push`() async throws {
        try await Visitor.withOperator([]) { shop, client in
            let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
            // What a trigger says is not for programs without access to the database.
            try await shop.database.run(
                """
                CREATE FUNCTION public.tell() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE WARNING 'internal'; RETURN NEW; END $$;
                CREATE TRIGGER tell BEFORE INSERT ON carillon.messages FOR EACH ROW EXECUTE FUNCTION public.tell()
                """
            )
            func post(_ payload: String) async -> Client.Answer {
                let headers = "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
                return await client.post("/messages", #"{"tokens": ["aa"], "payload": \#(payload)}"#, headers: headers)
            }
            let ignored = await post(#"{"aps": {}}"#)
            #expect(
                ignored.status == "201" && ignored.body.contains(#""notices":["A device does nothing with"#),
                "\(ignored)"
            )
            #expect(ignored.body.contains("Apple accepts it, and it counts as sent.\"]}"), "\(ignored.body)")
            let shown = await post(#"{"aps": {"alert": "hi"}}"#)
            #expect(shown.status == "201" && !shown.body.contains("notices"), "\(shown.body)")
            #expect(!(ignored.body + shown.body).contains("nternal"))
        }
    }

    @Test(.shop)
    func `PostgreSQL's log has no token of a program, not even where it has each statement`() async throws {
        let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
        let digest = try #require(
            try await shop.database.value("encode(sha256(convert_to('\(token)', 'UTF8')), 'hex')")
        )
        let name = try #require(try await shop.database.value("current_database()"))
        try await shop.database.run("ALTER DATABASE \"\(name)\" SET log_min_duration_statement = 0")
        try await Client.with(shop.database.url, in: shop.folder) { client, _ in
            let headers = "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
            let body = #"{"tokens": ["aa"], "alert": "hi"}"#
            #expect(await client.post("/messages", body, headers: headers).status == "201")
        }
        #expect(try await !TestCluster.log(with: digest).isEmpty)
        #expect(try await TestCluster.log(with: token).isEmpty)
    }

    @Test(arguments: [
        (#""tokens": "aa""#, "Argument \"tokens\" takes an array of strings, got \"aa\"."),
        (#""tokens": {"a": 1}"#, "Argument \"tokens\" takes an array of strings, got {\"a\": 1}."),
        (#""payloads": "x""#, "Argument \"payloads\" takes an array of objects, got \"x\"."),
        (#""badge": "many""#, "Argument \"badge\" takes a whole number, got \"many\"."),
        (#""badge": 1.5"#, "Argument \"badge\" takes a whole number, got 1.5."),
        (#""priority": 99999999999999999999"#, "Argument \"priority\" takes a whole number, got 99999999999999999999."),
        (#""relevance_score": "high""#, "Argument \"relevance_score\" takes a number, got \"high\"."),
        (#""content_available": "maybe""#, "Argument \"content_available\" takes true or false, got \"maybe\"."),
        (#""strict": 7"#, "Argument \"strict\" takes true or false, got 7."),
        (#""run_at": "soon""#, "Argument \"run_at\" takes a time, such as \"2026-11-22T11:45:00Z\", got \"soon\"."),
        (#""expires_at": "2026-13-40""#, "Argument \"expires_at\" takes a time, such as"),
        (#""title": {"a": 1}"#, "Argument \"title\" takes a string, got {\"a\": 1}."),
        (#""subtitle": true"#, "Argument \"subtitle\" takes a string, got true."),
        (#""reference": 7"#, "Argument \"reference\" takes a string, got 7."),
        (#""payload": ["a"]"#, "Argument \"payload\" takes a string or an object, got [\"a\"]."),
        (#""badge": "1""#, "Argument \"badge\" takes a whole number, got \"1\"."),
        (#""mutable_content": 1"#, "Argument \"mutable_content\" takes true or false, got 1."),
        (#""tokens": ["aa", 1]"#, "Argument \"tokens\" takes an array of strings, got [\"aa\", 1]."),
        (#""dedupe_for": 3600"#, "Argument \"dedupe_for\" takes an interval, such as \"1 hour\", got 3600."),
        (#""dedupe_for": "long""#, "Argument \"dedupe_for\" takes an interval, such as \"1 hour\", got \"long\"."),
    ])
    func `a member of the wrong type is named, with what it takes`(member: String, detail: String) async throws {
        try await refused("{\(member), \"alert\": \"hi\"}", detail: detail, hint: "The pages docs/http.md and")
    }

    @Test func `a body that is no JSON is refused with what is wrong in it`() async throws {
        let nested = String(repeating: "[", count: 50_000)
        for body in ["{", #"{"alert": "\u0000"}"#, #"{"alert": "\ud800"}"#, "'hi'", nested] {
            try await refused(body, detail: "The body cannot be read as JSON: ", hint: "Send one JSON object")
        }
        try await refused(
            #"{"badge": 1e999999}"#,
            detail: "The body has a number whose exponent has more than three digits.",
            hint: "No argument takes"
        )
    }

    @Test func `a copy of a database takes no message, and says that sending it again does not help`() async throws {
        try await Visitor.withOperator([]) { shop, client in
            let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
            try await shop.database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
            let headers = "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
            let answer = await client.post("/messages", #"{"tokens": ["aa"], "alert": "hi"}"#, headers: headers)
            #expect(answer.status == "503", "\(answer.head)")
            let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body.utf8))
            #expect(problem.detail.hasPrefix("The database cannot answer now."), "\(problem)")
            #expect(
                problem.hint
                    == "Nothing is sent from this database. To change that, the owner of the schema must run: carillon adopt"
            )
            let line = try await client.program.line(containing: "Calls of the API fail", on: TestLoop.shared)
            #expect(line.contains("his database is a copy"), "\(line)")
            for table in ["messages", "scheduled"] {
                #expect(try await shop.database.number("SELECT count(*) FROM carillon.\(table)") == 0, "\(table)")
            }
        }
    }

    @Test func `a member that enqueue does not take is named, with all that it takes`() async throws {
        for member in ["token", "app"] {
            try await refused(
                "{\"\(member)\": \"aa\", \"body\": \"hi\"}",
                detail: "Argument \"request\" takes the arguments of enqueue without app, got a member \"\(member)\".",
                hint: "The members are: tokens, "
            )
        }
    }

    @Test func `a topic that the app's certificate is not for is refused`() async throws {
        try await refused(
            #"{"tokens": ["aa"], "alert": "hi", "push_type": "widgets"}"#,
            detail: "Argument \"app\" takes an app that may send to the topic \(Shop.topic).push-type.widgets",
            hint: "Import a signing key with 'carillon credential import'"
        )
    }

    private func refused(_ body: String, detail: String, hint: String) async throws {
        try await Visitor.withOperator([]) { shop, client in
            let token = try #require(try await shop.database.value("carillon.create_api_token('shop', 'test')"))
            let headers = "Authorization: Bearer \(token)\r\nContent-Type: application/json\r\n"
            let answer = await client.post("/messages", body, headers: headers)
            #expect(answer.status == "400", "\(answer.head)")
            let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body.utf8))
            #expect(problem.detail.hasPrefix(detail), "\(problem)")
            #expect(problem.hint?.hasPrefix(hint) == true, "\(problem)")
            #expect(try await shop.database.number("SELECT count(*) FROM carillon.messages") == 0)
        }
    }

    private struct Problem: Decodable {
        let detail: String
        let hint: String?
    }
}
