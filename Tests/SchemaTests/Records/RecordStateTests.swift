import CarillonSchema
import TestSupport
import Testing

@Suite struct RecordStateTests {
    @Test
    func `each state of a channel and each status of a credential that the schema allows has a case`() async throws {
        try await TestDatabase.with(.schema) { database in
            let states = try await database.words(in: "channels_state_is_known")
            #expect(states.union(["unknown"]) == Set(ChannelRecord.State.allCases.map(\.rawValue)))
            let statuses = try await database.words(in: "certificates_status_is_known")
            #expect(statuses.union(["missing"]) == Set(CredentialStatus.allCases.map(\.rawValue)))
        }
    }

    @Test func `each state of a message has a case`() async throws {
        try await TestDatabase.with(.schema) { database in
            let open = try await database.words(in: "open_counts")
            let ended = try await database.words(in: "message_state")
            // Why it waits, and a state of workers.
            let others: Set = ["the app is paused", "no worker is running", "silent"]
            #expect(open.union(ended).subtracting(others) == Set(MessageStatus.State.allCases.map(\.rawValue)))
        }
    }
}
