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
        #expect(ReasonsReference.names.filter { ReasonAdvice.text(for: $0) == nil } == [])
        #expect(Set(ReasonAdvice.own.keys).subtracting(ReasonsReference.names) == [])
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
