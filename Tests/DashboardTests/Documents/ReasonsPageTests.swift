import ApplePush
import TestSupport
import Testing

/// docs/reasons.md.
@Suite struct ReasonsPageTests {
    @Test(.demo) func `the page has a row for each reason`() async throws {
        let page = GeneratedPage("docs/reasons.md")
        try page.expect(try await ReasonsReference(database: database).text())
        let names = try page.text.matches(of: #/\n\| `([A-Za-z]+)` \|/#).map { String($0.output.1) }
        #expect(names == ReasonsReference.names)
    }

    @Test func `every reason has advice, and nothing else has`() {
        #expect(ReasonsReference.names.filter { ReasonAdvice($0).text.isEmpty } == [])
        #expect(Set(ReasonAdvice.own.keys).subtracting(ReasonsReference.names) == [])
    }

    @Test func `the advice is for what becomes of a push, and says whether the app may be held then`() throws {
        var outcomes: [(String?, Outcome)] = Reason.all.map { reason, status in
            (reason.name, Outcome(.rejected, status: status, reason: reason))
        }
        outcomes.append(("OutcomeUnknown", Outcome(.unknown)))
        for (name, outcome) in outcomes {
            let name = try #require(name)
            let (fates, advice) = (PushFates(after: outcome), ReasonAdvice(name))
            #expect((advice.whileWaiting != nil) == fates.waits, "\(name)")
            #expect((advice.onceFailed != nil) == fates.fails, "\(name)")
            #expect(advice.whileWaiting?.contains("held") ?? false == fates.waitsWhileHeld, "\(name)")
            #expect(advice.onceFailed?.contains("held") ?? false == fates.failsWhileHeld, "\(name)")
        }
    }

    @Test func `requeue_failures() knows these reasons and no others`() throws {
        let names = ReasonsReference.names
        var lines = ["       "]
        for name in names {
            let item = " '\(name)'" + (name == names.last ? "" : ",")
            if lines[lines.count - 1].count + item.count > 128 { lines.append("       ") }
            lines[lines.count - 1] += item
        }
        try GeneratedPage("migrations/functions/messages/requeue.sql")
            .expect(lines, after: "reasons CONSTANT text[] := ARRAY[", before: "\n    ];")
    }
}
