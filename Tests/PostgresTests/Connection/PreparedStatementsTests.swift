import Testing

@testable import CarillonPostgres

@Suite struct PreparedStatementsTests {
    private static let statement = Statement("claim", "SELECT 1")

    private static func refusal(_ text: String) -> PostgresError { PostgresError(.server, text) }

    @Test func `a statement is prepared once`() throws {
        var prepared = PreparedStatements()
        #expect(try prepared.use(Self.statement, types: []) == ("claim", true))
        #expect(try prepared.use(Self.statement, types: []) == ("claim", false))
    }

    @Test func `a name is never used twice, whether the server prepared it or not`() throws {
        var prepared = PreparedStatements()
        _ = try prepared.use(Self.statement, types: [])
        prepared.forget(Self.statement, as: "claim")
        #expect(try prepared.use(Self.statement, types: []) == ("claim_2", true))
        prepared.refused(Self.statement, as: "claim_2", Self.refusal("locked"))
        #expect(try prepared.use(Self.statement, types: []) == ("claim_3", true))
    }

    @Test func `an answer about an earlier preparation leaves a later one alone`() throws {
        var prepared = PreparedStatements()
        _ = try prepared.use(Self.statement, types: [])
        prepared.forget(Self.statement, as: "claim")
        _ = try prepared.use(Self.statement, types: [])
        prepared.refused(Self.statement, as: "claim", Self.refusal("locked"))
        prepared.forget(Self.statement, as: "claim")
        #expect(try prepared.use(Self.statement, types: []) == ("claim_2", false))
    }

    @Test func `only calls of the refused preparation have its reason`() throws {
        var prepared = PreparedStatements()
        _ = try prepared.use(Self.statement, types: [])
        prepared.refused(Self.statement, as: "claim", Self.refusal("locked"))
        _ = try prepared.use(Self.statement, types: [])
        #expect(prepared.reason(for: Self.statement, as: "claim")?.message == "locked")
        #expect(prepared.reason(for: Self.statement, as: "claim_2") == nil)
    }
}
