import CarillonSchema
import TestSupport
import Testing

/// docs/sql.md, and the comments that psql shows.
@Suite struct SQLPageTests {
    private static let page = GeneratedPage("docs/sql.md")

    @Test(.demo) func `sql.md is what the catalog of a migrated database yields`() async throws {
        try Self.page.expect(try await SQLReference(database: database).text())
    }

    @Test(.demo) func `every function and table is in one group`() async throws {
        let names = SQLGroup.all.flatMap(\.names)
        #expect(Set(names).count == names.count)
        #expect(try await SQLReference(database: database).misplaced() == [])
    }

    @Test func `every column of a result says what it is`() throws {
        let tables = try Self.page.text.split(separator: "\nReturns:\n\n").dropFirst().map {
            $0.split(separator: "\n\n")[0]
        }
        #expect(tables.count > 5)
        for table in tables { #expect(!table.contains("|  |"), "\(table)") }
    }

    @Test(.demo) func `dashboard.md names every action that audit records`() async throws {
        let page = try GeneratedPage("docs/dashboard.md").text
        let functions = try await database.value(
            "SELECT string_agg(p.prosrc, '') FROM pg_proc p WHERE p.pronamespace = 'carillon'::regnamespace"
        )
        let calls = (functions ?? "").matches(of: #/record_(?:change|of_person)\('([A-Za-z ]+)'/#)
        #expect(calls.count > 10)
        for call in calls { #expect(page.contains("`'\(call.output.1)'`"), "\(call.output.1)") }
    }

    @Test func `an argument stands once in the table of its function`() throws {
        let tables = try Self.page.text.split(separator: "| argument | type | default |").dropFirst()
        #expect(tables.count > 10)
        for table in tables {
            let rows = (table.split(separator: "\n\n").first ?? "").matches(of: #/\n\| `([a-z_]+)` \|/#).map {
                String($0.output.1)
            }
            #expect(!rows.isEmpty && Set(rows).count == rows.count, "\(rows)")
        }
    }

    @Test(.demo) func `everything that applications and dashboards may use has a comment`() async throws {
        let silent = try await database.rows(
            """
            SELECT f.oid::regprocedure::text FROM (\(SQLReference.callable)) f WHERE f.comment IS NULL
            UNION ALL
            SELECT c.relname || '.' || c.attname FROM (\(SQLReference.columns)) c
            WHERE c.comment IS NULL OR c.about IS NULL
            """
        )
        #expect(silent == [])
    }

    /// The daily partitions are made without a comment, as time goes by.
    @Test(.demo) func `every table, view, type and function has a comment`() async throws {
        let silent = try await database.rows(
            """
            SELECT p.oid::regprocedure::text FROM pg_proc p
            WHERE p.pronamespace = 'carillon'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL
            UNION ALL
            SELECT c.relname FROM pg_class c
            WHERE c.relnamespace = 'carillon'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
                AND (NOT c.relispartition OR c.relname LIKE '%\\_default') AND obj_description(c.oid, 'pg_class') IS NULL
            UNION ALL
            SELECT t.typname FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
            WHERE t.typnamespace = 'carillon'::regnamespace AND (c.relkind = 'c' OR t.typtype IN ('d', 'e', 'r'))
                AND obj_description(t.oid, 'pg_type') IS NULL
            """
        )
        #expect(silent == [])
    }

    @Test func `rights.md names every role that the migrations create`() throws {
        let page = try GeneratedPage("docs/rights.md").text
        let roles = Migration.all.map(\.up).joined(separator: "\n").matches(of: #/'(carillon_[a-z]+)'/#)
        #expect(roles.count >= 5)
        for role in roles { #expect(page.contains("| `\(role.output.1)` |"), "\(role.output.1)") }
    }

    @Test(.demo) func `the examples of messages.md run as they are printed`() async throws {
        let examples = try GeneratedPage("docs/messages.md").text.split(separator: "```sql\n").dropFirst()
            .map { String($0.split(separator: "```")[0]) }
        #expect(examples.count > 3)
        try await database.run("INSERT INTO carillon.apps (name) VALUES ('acme'); SET ROLE carillon_app")
        for example in examples {
            await #expect(throws: Never.self, "\(example)") { try await database.run(example) }
        }
        try await database.run("RESET ROLE")
    }

    @Test(arguments: ["README.md", "docs/enqueue.md"])
    func `the tokens of the examples are as long as Apple's`(name: String) throws {
        let page = try GeneratedPage(name).text
        let tokens = page.matches(of: #/(?:ARRAY\[|register_token\('acme', )'([^']*)'/#).map(\.output.1)
        #expect(tokens.isEmpty == false)
        for token in tokens { #expect(token.count == 64 && token.allSatisfy(\.isHexDigit), "\(token)") }
    }
}
