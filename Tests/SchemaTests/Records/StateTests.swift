import CarillonSchema
import TestSupport
import Testing

@Suite struct StateTests {
    /// The texts that a constraint allows.
    private func texts(of constraint: String, in database: TestDatabase) async throws -> Set<String> {
        let list = try await database.value(
            """
            SELECT string_agg(w[1], ',') FROM pg_constraint c, regexp_matches(pg_get_constraintdef(c.oid), '''([a-z ]+)''', 'g') AS w
            WHERE c.conname = '\(constraint)'
            """
        )
        return Set((list ?? "").split(separator: ",").map(String.init))
    }

    @Test func `each state of a channel and each status of a credential that the schema allows has a case`()
        async throws
    {
        try await TestDatabase.with(.schema) { database in
            let states = try await texts(of: "channels_state_is_known", in: database)
            #expect(states.union(["unknown"]) == Set(ChannelState.allCases.map(\.rawValue)))
            let statuses = try await texts(of: "certificates_status_is_known", in: database)
            #expect(statuses.union(["missing"]) == Set(CredentialStatus.allCases.map(\.rawValue)))
        }
    }
}
