import CarillonPostgres
import TestSupport
import Testing

/// carillon.peek_events and acknowledge_events, with which programs without a transaction of their own take events.
@Suite(.demo) struct PeekEventsTests {
    private static let follow = "SELECT carillon.subscribe('demo', 'follower')"

    private static func note(_ tokens: String...) -> String {
        let times = tokens.map { _ in "now()" }.joined(separator: ", ")
        return "SELECT carillon.note_dead(1, '{\(tokens.joined(separator: ","))}', ARRAY[\(times)])"
    }

    /// The tokens of the events, and the cursor.
    private func peek(_ number: Int = 100) async throws -> (tokens: String, cursor: String) {
        let row = try await database.rows(
            """
            SELECT (SELECT string_agg(e ->> 'token', ' ' ORDER BY place)
                FROM jsonb_array_elements(p.events) WITH ORDINALITY AS j(e, place)), replace(p.cursor, ',', '+')
            FROM carillon.peek_events('demo', 'follower', \(number)) AS p
            """
        )[0]
        let cells = row.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
        return (String(cells[0].filter { $0 != "\"" }), String(cells[1]).replacing("+", with: ","))
    }

    private func acknowledge(_ cursor: String) async throws -> String? {
        try await database.value("carillon.acknowledge_events('demo', 'follower', '\(cursor)')")
    }

    @Test func `events come again until they are acknowledged, and are then gone`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2")); \(Self.note("a3"))")
        let first = try await peek()
        #expect(first.tokens == "a1 a2 a3")
        #expect(try await peek() == first)
        #expect(try await acknowledge(first.cursor) == "3")
        #expect(try await acknowledge(first.cursor) == "0")
        #expect(try await peek().tokens == "")
        #expect(try await database.number("SELECT count(*) FROM carillon.untaken_events") == 0)
    }

    @Test func `a part of a settlement is acknowledged, and the rest comes next`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2", "a3"))")
        let first = try await peek(2)
        #expect(first.tokens == "a1 a2")
        #expect(try await acknowledge(first.cursor) == "2")
        let second = try await peek(2)
        #expect(second.tokens == "a3")
        // An answer that comes late acknowledges nothing twice.
        #expect(try await acknowledge(first.cursor) == "0")
        #expect(try await peek(2) == second)
    }

    @Test func `what commits between the two calls is not acknowledged with them`() async throws {
        try await database.run(Self.follow)
        try await database.session { late in
            try await late.run("BEGIN; \(Self.note("a1"))")
            try await database.run(Self.note("a2"))
            let first = try await peek()
            #expect(first.tokens == "a2")
            try await late.run("COMMIT")
            #expect(try await acknowledge(first.cursor) == "1")
            #expect(try await peek().tokens == "a1")
        }
    }

    @Test func `what a session has taken meanwhile is not acknowledged again`() async throws {
        try await database.run("\(Self.follow); \(Self.note("a1", "a2", "a3"))")
        let first = try await peek(2)
        try await database.run("SELECT carillon.take_events('follower', 1)")
        #expect(try await acknowledge(first.cursor) == "1")
        #expect(try await peek().tokens == "a3")
    }

    @Test(arguments: ["x", "1;2", "1.2.3", "-1", "99999999999999999999"])
    func `a text that is no cursor is refused`(cursor: String) async throws {
        try await database.run(Self.follow)
        let error = await #expect(throws: PostgresError.self) { try await acknowledge(cursor) }
        #expect(error?.sqlState == "22023", "\(error?.message ?? "")")
    }
}
