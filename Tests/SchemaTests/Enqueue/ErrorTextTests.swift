import CarillonPostgres
import TestSupport
import Testing

/// How an error shows a value: enough to see what is wrong with it, on one line.
@Suite(.demo) struct ErrorTextTests {
    private static let long = String(repeating: "9f1c2ab7", count: 8)

    @Test(arguments: [
        (
            "carillon.enqueue('demo', ARRAY['\(long)' || chr(10)], 'x')",
            #"got '9f1c2ab79f1c…f1c2ab7\n' at position 1, whose character 65 is '\n'"#
        ),
        ("carillon.enqueue('demo', ARRAY['ab', '\(long)a'], 'x')", "at position 2, which has 65 digits"),
        ("carillon.enqueue('demo', ARRAY['\(long)', '<\(long)>'], 'x')", "at position 2, whose character 1 is '<'"),
        ("carillon.register_token('demo', 'ab' || chr(9))", #"got 'ab\t', whose character 3 is '\t'"#),
        ("carillon.register_token('demo', NULL)", "got null"),
        ("carillon.enqueue('demo', '{ab}', 'x', collapse_id => E'a\\nb\\x1b[31m')", #"got 'a\nb\u001b[31m' (8 bytes)"#),
        ("carillon.enqueue('demo', '{ab}', 'x', push_type => E'a\\r\\nlert')", #"got 'a\r\nlert'"#),
        ("carillon.enqueue(E'de\\nmo', '{ab}', 'x')", #"got 'de\nmo'"#),
    ])
    func `an error escapes control characters, so that it stays one line`(call: String, got: String) async throws {
        let error = try #require(await Self.error(of: call, in: database))
        #expect(error.message.hasSuffix(got), "\(error.message)")
        #expect(!error.message.contains { $0.isNewline })
    }

    @Test(arguments: [
        ("extra => jsonb_build_object('a', repeat('b', 5000))", "extra", "5017 bytes"),
        ("title => repeat('b', 1500), body => repeat('c', 3000)", "body", "4540 bytes"),
        ("alert => 'x', thread_id => repeat('b', 5000)", "thread_id", "5036 bytes"),
    ])
    func `the error for a payload that is too large names its largest argument`(
        arguments: String,
        name: String,
        size: String
    )
        async throws
    {
        let error = try #require(await Self.error(of: "carillon.enqueue('demo', '{ab}', \(arguments))", in: database))
        #expect(error.message.hasPrefix("argument \"\(name)\" takes a value for a payload of at most 4096 bytes"))
        #expect(error.message.hasSuffix("got one of \(size)"), "\(error.message)")
    }

    @Test(arguments: [
        ("", "subtitle", nil),
        ("push_type => 'background'", "unless badge", "content_available => true"),
        ("alert => 'x', expires_at => 'infinity'", "expires_at", "Leave it out"),
        ("alert => 'x', dedupe_key => 'k', dedupe_for => '300000 years'", "at most 100 years", nil),
        ("alert => 'x', dedupe_key => 'k', run_at => '294276-12-31'", "a time from the year 2000 to 2200", nil),
        ("alert => 'x', priority => 32768", #"argument "priority" takes 10, 5 or 1"#, nil),
        ("payload => ''", "takes a JSON object, got an empty string", nil),
        ("extra => '{}'", "a key in extra", nil),
        ("content_available => false", "content_available => true", nil),
    ])
    func `values that are out of range or missing get an error of Carillon, not of PostgreSQL`(
        arguments: String,
        message: String,
        hint: String?
    )
        async throws
    {
        let list = ["'demo'", "'{ab}'", arguments].filter { !$0.isEmpty }.joined(separator: ", ")
        let error = try #require(await Self.error(of: "carillon.enqueue(\(list))", in: database))
        #expect(error.message.contains(message), "\(error.message)")
        #expect(error.hint?.contains(hint ?? "") ?? (hint == nil), "\(error.hint ?? "")")
    }

    @Test func `a sound that is a JSON object is sent as an object`() async throws {
        let dictionary = #"{"critical":1,"name":"default","volume":0.5}"#
        for (given, sent) in [(" \(dictionary) ", dictionary), ("bell.caf", #""bell.caf""#), ("{no", #""{no""#)] {
            try await database.run("SELECT carillon.enqueue('demo', '{ab}', 'x', sound => '\(given)')")
            #expect(
                try await database.value("SELECT payload FROM carillon.messages ORDER BY id DESC LIMIT 1")
                    == #"{"aps":{"alert":"x","sound":\#(sent)}}"#
            )
        }
    }

    private static func error(of call: String, in database: TestDatabase) async -> PostgresError? {
        await database.refusal(ofValue: call)
    }
}
