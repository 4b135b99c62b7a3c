import TestSupport
import Testing

@testable import CarillonDashboard

/// The closed sets that only the dashboard reads.
@Suite struct PageStateTests {
    @Test func `each event of a token and each state of a Live Activity has a case`() async throws {
        try await TestDatabase.with(.schema) { database in
            // Both are what search_token returns.
            let events = try await database.words(in: "token_history").union(database.words(in: "token_jobs"))
            #expect(events == Set(TokenEvent.Kind.allCases.map(\.rawValue)))
            let states = try await database.words(in: "newest_activities")
            #expect(states == Set(ActivitiesView.Activity.State.allCases.map(\.rawValue)))
        }
    }
}
