import CarillonSchema
import TestSupport
import Testing

@testable import CarillonDashboard

/// The closed sets that only the dashboard reads.
@Suite struct PageStateTests {
    @Test func `each event with a mark is one of a trace, and each state of a Live Activity has a case`() async throws {
        try await TestDatabase.with(.schema) { database in
            var events: Set<String> = []
            for name in [
                "token_history", "token_jobs", "trace", "trace_tokens", "trace_owner", "trace_message", "trace_job",
                "trace_failures", "trace_ended",
            ] { events.formUnion(try await database.words(in: name)) }
            #expect(events.isSuperset(of: TraceRecord.marks.keys))
            let states = try await database.words(in: "newest_activities")
            #expect(states == Set(ActivitiesView.Activity.State.allCases.map(\.rawValue)))
        }
    }
}
