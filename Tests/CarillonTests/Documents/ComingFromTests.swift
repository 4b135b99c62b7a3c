import TestSupport
import Testing

/// docs/coming-from.md. `PageTests` check its commands and their options.
@Suite(.shop) struct ComingFromTests {
    @Test func `every statement and argument in SQL that the page shows is accepted`() async throws {
        let page = try GeneratedPage("docs/coming-from.md").text
        let shown = page.matches(of: #/`([^`\n]+)`/#).map { String($0.output.1) }
        let statements = shown.filter { $0.hasPrefix("SELECT ") }
        let arguments = shown.filter { $0.firstMatch(of: #/^[a-z_]+ => /#) != nil }
        #expect(statements.count > 6 && arguments.count > 5)
        try await shop.database.run("CREATE TABLE devices (token text, updated_at timestamptz)")
        let enqueues = arguments.map { argument in
            let alert = argument.hasPrefix("payload") ? "" : ", 'Hello'"
            return "SELECT carillon.enqueue('acme', ARRAY['TOKEN']\(alert), \(argument))"
        }
        for statement in statements + enqueues {
            let words = statement.replacing("acme", with: "shop").replacing("…", with: "")
                .replacing(/TOKEN\d?/) { _ in Shop.token("9f") }
            await #expect(throws: Never.self, "\(statement)") { try await shop.database.run(words) }
        }
    }
}
