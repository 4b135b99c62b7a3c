import TestSupport
import Testing

/// The page about personal data, against the catalog.
@Suite(.demo) struct PrivacyPageTests {
    @Test func `docs/privacy.md says of every table what it holds of people`() async throws {
        let page = try GeneratedPage("docs/privacy.md").text
        let tables = try await database.rows(
            """
            SELECT c.relname FROM pg_class c
            WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            """
        )
        #expect(tables.count > 30)
        for table in tables {
            let name = table.dropFirst().dropLast()
            #expect(page.contains("`\(name)`"), "\(name) is not on the page")
        }
    }

    @Test func `docs/privacy.md has a row for each table that forget changes`() async throws {
        let page = try GeneratedPage("docs/privacy.md").text
        let kinds = try await database.rows("SELECT f.kind FROM carillon.forget('demo', 'nobody') AS f")
        #expect(kinds.count == 17)
        for kind in kinds {
            let name = kind.dropFirst().dropLast()
            #expect(page.contains("\n| `\(name)` |"), "\(name) has no row")
        }
    }
}
