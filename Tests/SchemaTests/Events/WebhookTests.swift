import CarillonPostgres
import TestSupport
import Testing

/// The SQL of webhooks, as operators and workers call it.
@Suite(.demo) struct WebhookTests {
    private static let add = "SELECT carillon.add_webhook('crm', 'demo', 'https://example.com/hook')"
    private static let claim = "SELECT c.name, c.attempt FROM carillon.claim_webhooks(10) AS c"
    private static let batch = """
        SELECT b.token FROM carillon.webhooks w CROSS JOIN LATERAL carillon.webhook_batch(w.id, w.batch_id) AS b
        """
    private static let state = "SELECT state, events, attempts FROM carillon.webhook_status"

    private static func note(_ tokens: String...) -> String {
        let times = tokens.map { _ in "now()" }.joined(separator: ", ")
        return "SELECT carillon.note_dead(1, '{\(tokens.joined(separator: ","))}', ARRAY[\(times)])"
    }

    /// - Parameter error: why the receiver has not accepted the batch; nil: it has.
    private static func settle(attempt: Int, error: String? = nil, pauses: Bool = false, slow: Bool = false) -> String {
        """
        SELECT carillon.settle_webhook(
            w.id, w.batch_id, \(attempt), \(error.map { "'\($0)'" } ?? "NULL"), 60, \(pauses), \(slow))
        FROM carillon.webhooks w
        """
    }

    @Test func `a batch is kept until it is accepted, and only then the next one is taken`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1", "a2")); \(Self.note("a3"))")
        #expect(try await database.rows(Self.claim) == ["(crm,1)"])
        try await database.run(Self.note("a4"))
        #expect(try await database.rows(Self.batch) == ["(a1)", "(a2)", "(a3)"])
        #expect(try await database.rows(Self.state) == ["(active,4,1)"])
        // It is attempted, and then waits.
        #expect(try await database.rows(Self.claim) == [])
        #expect(try await database.value(Self.settle(attempt: 1, error: "no")) == "true")
        #expect(try await database.rows(Self.claim) == [])
        #expect(try await database.rows(Self.state) == ["(failing,4,1)"])
        let id = try await database.value("SELECT batch_id FROM carillon.webhooks")
        try await database.run("UPDATE carillon.webhooks SET next_attempt_at = now()")
        #expect(try await database.rows(Self.claim) == ["(crm,2)"])
        #expect(try await database.value("SELECT batch_id FROM carillon.webhooks") == id)
        #expect(try await database.rows(Self.batch) == ["(a1)", "(a2)", "(a3)"])
        #expect(try await database.value(Self.settle(attempt: 2)) == "true")
        #expect(try await database.rows(Self.state) == ["(active,1,0)"])
        #expect(try await database.rows(Self.claim) == ["(crm,1)"])
        #expect(try await database.rows(Self.batch) == ["(a4)"])
    }

    /// As JSON, each of its characters has six bytes.
    private static let longReference = #"repeat(E'\x01', 1024)"#

    /// Failed pushes, each of a message with that reference.
    private static func note(_ count: Int, reference: String) -> String {
        func fill(_ value: String) -> String { "array_fill(\(value), ARRAY[\(count)])" }
        return """
            SELECT carillon.store_events(e, NULL, false)
            FROM (SELECT array_agg(i) AS ids FROM generate_series(1::bigint, \(count)) i) AS m
            CROSS JOIN LATERAL jsonb_populate_record(NULL::carillon.events, jsonb_build_object('app_id', 1, 'message', m.ids,
                'message_reference', \(fill(reference)), 'failed', m.ids, 'failed_token', \(fill("repeat('ab', 32)")),
                'failed_status', \(fill("400")), 'failed_reason', \(fill("'BadTopic'::text")))) AS e
            """
    }

    @Test func `a batch has at most 500 events, and 160 kB of them, however long their texts are`() async throws {
        try await database.run("\(Self.add); \(Self.note(60, reference: Self.longReference))")
        let size = """
            SELECT count(*), coalesce(sum(octet_length(json_strip_nulls(to_json(b))::text)), 0) <= 163840
            FROM carillon.webhooks w CROSS JOIN LATERAL carillon.webhook_batch(w.id, w.batch_id) AS b
            """
        var counts: [Int] = []
        while try await database.rows(Self.claim) == ["(crm,1)"] {
            let row = try #require(try await database.rows(size).first)
            #expect(row.hasSuffix(",t)"), "\(row)")
            counts.append(try #require(row.firstMatch(of: /\d+/).flatMap { Int($0.output) }))
            #expect(try await database.value(Self.settle(attempt: 1)) == "true")
        }
        #expect(counts.reduce(0, +) == 60 && counts.allSatisfy { (1...26).contains($0) }, "\(counts)")
        #expect(counts.count < 6, "\(counts)")
        try await database.run("\(Self.note(501, reference: "repeat('r', 36)")); \(Self.claim)")
        #expect(try await database.rows(size) == ["(500,t)"])
    }

    @Test func `a copy of the database has no batch to post until it is adopted`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1"))")
        try await database.run("UPDATE carillon.installation SET database_oid = database_oid + 1")
        let error = await #expect(throws: PostgresError.self) { _ = try await database.rows(Self.claim) }
        #expect(error?.sqlState == "55000" && error?.message.contains("this database is a copy") == true)
        #expect(try await database.rows(Self.state) == ["(active,1,0)"])
        try await database.run("SELECT carillon.adopt()")
        #expect(try await database.rows(Self.claim) == ["(crm,1)"])
    }

    @Test func `a settlement without a time shows no row with its secret in an error`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim)")
        let settle = Self.settle(attempt: 1, error: "no").replacing(", 60,", with: ", NULL,")
        #expect(try await database.value(settle) == "true")
        #expect(try await database.rows(Self.claim) == ["(crm,2)"])
    }

    @Test func `a worker that was late settles nothing`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim)")
        try await database.run("UPDATE carillon.webhooks SET next_attempt_at = now()")
        #expect(try await database.rows(Self.claim) == ["(crm,2)"])
        #expect(try await database.value(Self.settle(attempt: 1, error: "no", pauses: true)) == "false")
        #expect(try await database.value(Self.settle(attempt: 2)) == "true")
        #expect(try await database.value(Self.settle(attempt: 2)) == "false")
        #expect(try await database.rows(Self.state) == ["(active,0,0)"])
    }

    @Test func `one worker claims a webhook, and no other waits for it`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1"))")
        try await database.session { other in
            try await other.run("BEGIN")
            #expect(try await other.rows(Self.claim) == ["(crm,1)"])
            try await database.run("SET lock_timeout = '100ms'; \(Self.note("a2"))")
            #expect(try await database.rows(Self.claim) == [])
            // It dies.
            try await other.run("ROLLBACK")
        }
        #expect(try await database.rows(Self.claim) == ["(crm,1)"])
        #expect(try await database.rows(Self.batch) == ["(a1)", "(a2)"])
    }

    @Test func `a webhook that was resumed is failing until its receiver accepts the batch, and has a new start`()
        async throws
    {
        let state = "SELECT state, failing_since IS NULL, failed_at IS NULL, last_error FROM carillon.webhook_status"
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim)")
        #expect(try await database.rows(state) == ["(active,t,t,)"])
        try await database.run(Self.settle(attempt: 1, error: "no", pauses: true))
        #expect(try await database.rows(state) == ["(paused,f,f,no)"])
        try await database.run("SELECT carillon.resume_webhook('crm')")
        #expect(try await database.rows(state) == ["(failing,t,f,no)"])
        try await database.run("\(Self.claim); \(Self.settle(attempt: 2))")
        #expect(try await database.rows(state) == ["(active,t,t,)"])
    }

    @Test func `who paused a webhook is kept, and a worker that gives it up meanwhile changes nothing about it`()
        async throws
    {
        let pause = "SELECT state, paused_by, paused_reason, paused_at IS NULL FROM carillon.webhook_status"
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim)")
        try await database.run("SELECT carillon.pause_webhook('crm', ' ', 'anna')")
        #expect(try await database.rows(pause) == ["(paused,anna,,f)"])
        #expect(try await database.value(Self.settle(attempt: 1, error: "gone", pauses: true)) == "true")
        #expect(try await database.rows(pause) == ["(paused,anna,,f)"])
        try await database.run("SELECT carillon.resume_webhook('crm', 'bert')")
        #expect(try await database.rows(pause) == ["(failing,,,t)"])
        try await database.run("\(Self.claim); \(Self.settle(attempt: 2, error: "gone", pauses: true))")
        #expect(try await database.rows(pause) == ["(paused,,gone,f)"])
        #expect(
            try await database.rows(
                "SELECT action, on_behalf_of, details ->> 'reason' FROM carillon.audit WHERE action LIKE '%webhook' ORDER BY id"
            ) == [
                #"("add webhook",,)"#, #"("pause webhook",anna,)"#, #"("resume webhook",bert,)"#,
                #"("pause webhook",,gone)"#,
            ]
        )
    }

    @Test func `a paused webhook is not claimed, and its events wait until it is resumed`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim)")
        try await database.run(Self.settle(attempt: 1, error: "it answered 410", pauses: true))
        #expect(
            try await database.rows("SELECT state, paused_reason, events FROM carillon.webhook_status")
                == [#"(paused,"it answered 410",1)"#]
        )
        try await database.run("UPDATE carillon.webhooks SET next_attempt_at = now(); \(Self.note("a2"))")
        #expect(try await database.rows(Self.claim) == [])
        #expect(try await database.value("carillon.seconds_to_webhook() IS NULL") == "true")
        #expect(try await database.value("carillon.resume_webhook('crm')") == "true")
        #expect(try await database.value("carillon.resume_webhook('crm')") == "false")
        #expect(try await database.rows(Self.claim) == ["(crm,2)"])
        #expect(try await database.value("carillon.pause_webhook('crm', 'a sale', 'anna')") == "true")
        #expect(try await database.value("carillon.pause_webhook('crm')") == "false")
        #expect(
            try await database.rows(
                "SELECT action, app, details ->> 'reason' FROM carillon.audit WHERE action LIKE '%webhook' ORDER BY id"
            ) == [
                #"("add webhook",demo,)"#, #"("pause webhook",demo,"it answered 410")"#, #"("resume webhook",demo,)"#,
                #"("pause webhook",demo,"a sale")"#,
            ]
        )
    }

    @Test func `those that fail or are slow are claimed apart from the others`() async throws {
        for name in ["one", "two", "three"] {
            try await database.run("SELECT carillon.add_webhook('\(name)', 'demo', 'https://example.com/\(name)')")
        }
        try await database.run(
            """
            \(Self.note("a1")); UPDATE carillon.webhooks SET failing_since = now() WHERE name = 'two';
            UPDATE carillon.webhooks SET is_slow = true WHERE name = 'three'
            """
        )
        let claim = "SELECT c.name FROM carillon.claim_webhooks"
        #expect(try await database.rows("\(claim)(0, true) AS c") == [])
        #expect(try await database.rows("\(claim)(9, false) AS c") == ["(one)"])
        #expect(try await database.rows("\(claim)(1, true) AS c").count == 1)
        #expect(try await database.rows("\(claim)(9, true) AS c").count == 1)
    }

    @Test func `a webhook is slow if its last attempt was`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1"))")
        let claim = "SELECT c.name FROM carillon.claim_webhooks(9, %) AS c"
        #expect(try await database.rows(claim.replacing("%", with: "false")) == ["(crm)"])
        try await database.run("\(Self.settle(attempt: 1, slow: true)); \(Self.note("a2"))")
        #expect(try await database.rows(claim.replacing("%", with: "false")) == [])
        #expect(try await database.rows(claim.replacing("%", with: "true")) == ["(crm)"])
        try await database.run("\(Self.settle(attempt: 1)); \(Self.note("a3"))")
        #expect(try await database.rows(claim.replacing("%", with: "false")) == ["(crm)"])
    }

    @Test func `who resumes a webhook that does not fail has no second worker attempt its batch`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim)")
        #expect(try await database.value("carillon.resume_webhook('crm')") == "false")
        #expect(try await database.rows(Self.claim) == [])
        try await database.run(Self.settle(attempt: 1, error: "no"))
        #expect(try await database.value("carillon.resume_webhook('crm')") == "true")
        #expect(try await database.rows(Self.claim) == ["(crm,2)"])
        #expect(try await database.value("carillon.resume_webhook('crm')") == "false")
        #expect(try await database.rows(Self.claim) == [])
        #expect(try await database.number("SELECT count(*) FROM carillon.audit WHERE action = 'resume webhook'") == 1)
    }

    @Test func `events are posted again by request`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1", "a2")); \(Self.claim); \(Self.settle(attempt: 1))")
        #expect(try await database.rows(Self.claim) == [])
        let count = "SELECT events, events_precision FROM carillon.count_redelivery('crm', now() - interval '1 hour'"
        #expect(try await database.rows("\(count))") == ["(2,exact)"])
        #expect(try await database.value("carillon.redeliver_webhook('crm', now() - interval '1 hour')") == "2")
        #expect(try await database.rows(Self.claim) == ["(crm,1)"])
        #expect(try await database.rows(Self.batch) == ["(a1)", "(a2)"])
        let error = await database.refusal(of: "SELECT carillon.redeliver_webhook('crm', now() + interval '1 hour')")
        #expect(error?.sqlState == "22023")
        let unknown = await database.refusal(of: "SELECT carillon.count_redelivery('none', now())")
        #expect(unknown?.sqlState == "42704")
        // Where it stops, it says so.
        try await database.run(Self.note("a3"))
        #expect(try await database.rows("\(count), 1)") == [#"(2,"at least")"#])
        #expect(try await database.rows("\(count), 2)") == ["(3,exact)"])
        try await database.run(
            """
            INSERT INTO carillon.events (id, app_id, dead, dead_token, dead_at)
            SELECT 1000, 1, array_agg(NULL::bigint), array_agg(lpad(to_hex(n), 8, '0')), array_agg(now()) FROM generate_series(1, 10001) n
            """
        )
        #expect(try await database.rows("\(count))") == [#"(10000,"at least")"#])
    }

    @Test func `what waits is counted in as many rows as a page reads, and to the end without a limit`() async throws {
        try await database.run("\(Self.add); SELECT carillon.subscribe('demo', 'billing')")
        try await database.run("\(Self.note("a1", "a2")); \(Self.note("a3"))")
        func depth(_ consumer: String, _ rows: String) async throws -> [String] {
            try await database.rows(
                """
                SELECT d.events, d.events_precision, d.oldest_at = (SELECT min(e.at) FROM carillon.events e)
                FROM carillon.untaken_depth('demo', '\(consumer)', \(rows)) AS d
                """
            )
        }
        for consumer in ["webhook:crm", "billing"] {
            #expect(try await depth(consumer, "1") == [#"(3,"at least",t)"#])
            for rows in ["2", "NULL"] { #expect(try await depth(consumer, rows) == ["(3,exact,t)"], "\(consumer)") }
        }
        // What is in the batch has been taken, and is not accepted yet.
        try await database.run("\(Self.claim); \(Self.note("a4"))")
        #expect(try await depth("webhook:crm", "1") == ["(4,exact,t)"])
        #expect(try await database.rows(Self.state) == ["(active,4,1)"])
        // The end of a split message that has not ended does not wait. One is looked up for each 100 rows.
        try await database.run(
            """
            INSERT INTO carillon.split_messages (app_id, id, last_id, lane, jobs, tokens)
            SELECT 1, 100 + n, 100 + n, 1, 1, CASE n WHEN 1 THEN 1 ELSE 0 END FROM generate_series(1, 22) n;
            INSERT INTO carillon.untaken_events (subscription_id, event_id, mask, events, broadcast_id)
            SELECT s.id, 1000 + n, -1, 1, 100 + n FROM carillon.subscriptions s, generate_series(1, 22) n
            """
        )
        #expect(try await depth("billing", "300") == [#"(6,"at least",t)"#])
        for rows in ["2200", "NULL"] { #expect(try await depth("billing", rows) == ["(25,exact,t)"], "\(rows)") }
        #expect(try await database.rows("SELECT events FROM carillon.consumers WHERE consumer = 'billing'") == ["(25)"])
        #expect(try await depth("nobody", "1") == ["(0,exact,)"])
    }

    @Test func `who does not read how much waits does not pay for it`() async throws {
        for view in [
            "SELECT c.app, c.consumer FROM carillon.consumers c", "SELECT w.state FROM carillon.webhook_status w",
        ] {
            let plan = try await database.plan(view)
            #expect(plan.contains("subscriptions") && !plan.contains("untaken_events"), "\(plan)")
        }
    }

    @Test func `a rotated secret signs beside the old one, until that is over`() async throws {
        let first = try #require(
            try await database.value("carillon.add_webhook('crm', 'demo', 'https://example.com/hook')")
        )
        #expect(first.hasPrefix("whsec_") && first.count == 50)
        try await database.run(Self.note("a1"))
        let second = try #require(try await database.value("carillon.rotate_webhook_secret('crm', '1 hour')"))
        #expect(first != second)
        let secrets = "SELECT array_to_string(c.secrets, ' ') FROM carillon.claim_webhooks(10) AS c"
        #expect(try await database.value(secrets) == "\(second) \(first)")
        try await database.run(
            "UPDATE carillon.webhooks SET next_attempt_at = now(), old_secret_until = now() - interval '1 second'"
        )
        #expect(try await database.value(secrets) == second)
        // Neither is in what others can read.
        for secret in [first, second] {
            #expect(
                try await database.number(
                    "SELECT count(*) FROM carillon.audit a, carillon.webhook_status s WHERE concat(a, s) LIKE '%\(secret)%'"
                ) == 0
            )
        }
    }

    @Test(arguments: [
        ("add_webhook('', 'demo', 'https://example.com/')", "22023"),
        ("add_webhook('w', 'nope', 'https://example.com/')", "42704"),
        ("add_webhook('w', 'demo', 'http://example.com/')", "22023"),
        ("add_webhook('w', 'demo', 'ftp://example.com/')", "22023"),
        ("add_webhook('w', 'demo', 'https://user:secret@example.com/')", "22023"),
        ("add_webhook('w', 'demo', 'https://example.com:65536/')", "22023"),
        ("add_webhook('w', 'demo', 'https://[::1]:0')", "22023"),
        ("add_webhook('w', 'demo', 'https://example.com/ x')", "22023"), ("add_webhook('w', 'demo', NULL)", "22023"),
        ("add_webhook('w', 'demo', 'https://example.com/', '{nope}')", "22023"),
        ("add_webhook('crm', 'demo', 'https://example.com/')", "42710"), ("remove_webhook('nope')", "42704"),
        ("rotate_webhook_secret('crm', '-1 s')", "22023"), ("pause_webhook(NULL)", "42704"),
        ("subscribe('demo', 'webhook:w')", "22023"), ("unsubscribe('demo', 'webhook:crm')", "22023"),
        ("take_events('webhook:crm')", "22023"),
    ])
    func `a wrong argument is refused, without a secret in the error`(call: String, state: String) async throws {
        try await database.run(Self.add)
        let error = await database.refusal(of: "SELECT carillon.\(call)")
        #expect(error?.sqlState == state, "\(error?.message ?? "")")
        #expect(error.map { "\($0)".contains("secret@") || "\($0)".contains("whsec_") } == false)
    }

    @Test func `a port is what follows the host, and nothing after it`() async throws {
        for (number, url) in ["https://a:65535", "https://[2606:4700::1]/", "https://a/:99999?b:0"].enumerated() {
            try await database.run("SELECT carillon.add_webhook('w\(number)', 'demo', '\(url)')")
        }
        #expect(try await database.number("SELECT count(*) FROM carillon.webhooks") == 3)
    }

    @Test(arguments: [
        "127.0.0.1:8080", "10.0.0.7", "169.254.169.254?a", "255.255.255.255", "[::1]:8080", "[fd12::1]",
        "[::ffff:172.31.0.1]", "[64:ff9b::a00:7]", "[2001:db8::1]", "2130706433", "0x7F000001/", "127.1:80",
        "0177.0.0.1?a", "012.0.0.1", "00000127.0.0.1", "0xa9.0xfe.0xa9.0xfe", "8.8.8.8.", "134744072",
    ])
    func `a URL with a private address is refused, unless these are allowed`(host: String) async throws {
        let call = "SELECT carillon.add_webhook('w', 'demo', 'https://\(host)', allow_private => "
        for allowed in ["NULL", "false"] {
            let error = await database.refusal(of: "\(call)\(allowed))")
            #expect(error?.message.contains("takes a URL with a public address") == true, "\(host)")
            #expect(error?.hint?.contains("allow_private => true") == true)
        }
        try await database.run("\(call)true)")
    }

    @Test(arguments: [
        "8.8.8.8:8443", "100.63.255.255", "172.32.0.1/127.0.0.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]",
        "[64:ff9b::808:808]", "10.example.com", "10.0.0.7.example.com", "999.0.0.1", "[::::]",
        "3com.example", "a.0xff.example",
    ])
    func `a URL with a public address or a name is not refused`(host: String) async throws {
        try await database.run("SELECT carillon.add_webhook('w', 'demo', 'https://\(host)')")
    }

    @Test func `what forget erases is not in a batch that was taken before`() async throws {
        try await database.run("\(Self.add); SELECT carillon.register_token('demo', 'a1', 'anna')")
        try await database.run("\(Self.note("a1", "a2")); \(Self.claim); SELECT carillon.forget('demo', 'anna')")
        #expect(try await database.rows(Self.batch) == ["()", "(a2)"])
    }

    @Test func `a webhook is removed with its events, and with its app`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1")); \(Self.claim); SELECT carillon.remove_webhook('crm')")
        #expect(try await database.number("SELECT count(*) FROM carillon.webhooks") == 0)
        #expect(try await database.number("SELECT count(*) FROM carillon.subscriptions") == 0)
        try await database.run("\(Self.add); DELETE FROM carillon.apps")
        #expect(try await database.number("SELECT count(*) FROM carillon.webhooks") == 0)
    }

    @Test func `a time that is too far away does not keep a batch back`() async throws {
        try await database.run("\(Self.add); \(Self.note("a1"))")
        for time in ["infinity", "-infinity", "3000-01-01"] {
            try await database.run("UPDATE carillon.webhooks SET next_attempt_at = '\(time)'")
            #expect(try await database.rows(Self.claim).count == 1, "\(time)")
        }
    }
}
