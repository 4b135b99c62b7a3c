import FoundationEssentials
import TestSupport
import Testing

/// docs/sql.md, and what psql says of the same objects.
@Suite struct SQLPageTests {
    private static let path = path(of: "docs/sql.md")

    private static func path(of page: String) -> String {
        var url = URL(filePath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url.appending(path: page).path
    }

    private static func page(_ path: String = path) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test func `the page lists what the catalog of a migrated database says`() async throws {
        try await TestDatabase.withDemo { database async throws in
            let reference = try await SQLReference(database: database).text()
            let page = try Self.page()
            let mark = try #require(page.firstRange(of: SQLReference.mark))
            if GeneratedPage.isWritten {
                let written = page[..<mark.lowerBound] + reference
                try Data(written.utf8).write(to: URL(filePath: Self.path))
            } else {
                let differs = zip(page[mark.lowerBound...].split(separator: "\n"), reference.split(separator: "\n"))
                    .first { $0 != $1 }
                #expect(
                    page[mark.lowerBound...] == reference,
                    "`make docs` writes it anew; the first line that differs: \(differs.map { "\($0)" } ?? "at the end")"
                )
            }
        }
    }

    @Test func `all that applications and dashboards may use has its comment`() async throws {
        try await TestDatabase.withDemo { database async throws in
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
    }

    @Test func `nothing else is commented as if it could be used`() async throws {
        try await TestDatabase.withDemo { database async throws in
            let misleading = try await database.rows(
                """
                SELECT p.oid::regprocedure::text FROM pg_proc p
                WHERE p.pronamespace = 'carillon'::regnamespace
                    AND obj_description(p.oid, 'pg_proc') NOT LIKE 'Internal: %'
                    AND p.oid NOT IN (SELECT f.oid FROM (\(SQLReference.callable)) f)
                UNION ALL
                SELECT d.objoid::regclass || ' column ' || d.objsubid FROM pg_description d
                JOIN pg_class r ON r.oid = d.objoid AND r.relnamespace = 'carillon'::regnamespace AND r.relkind <> 'c'
                WHERE d.classoid = 'pg_class'::regclass AND NOT EXISTS (
                    SELECT FROM (\(SQLReference.columns)) c WHERE c.oid = d.objoid AND d.objsubid IN (0, c.attnum))
                """
            )
            #expect(misleading == [])
        }
    }

    @Test func `the examples run as they stand there`() async throws {
        let examples = try Self.page().split(separator: "```sql\n").dropFirst()
            .map { String($0.split(separator: "```")[0]) }
        #expect(examples.count > 3)
        try await TestDatabase.withDemo { database async throws in
            try await database.run("INSERT INTO carillon.apps (name) VALUES ('acme'); SET ROLE carillon_app")
            for example in examples {
                await #expect(throws: Never.self, "\(example)") { try await database.run(example) }
            }
            try await database.run("RESET ROLE")
        }
    }

    @Test(arguments: ["README.md", "docs/enqueue.md", "docs/sql.md"])
    func `the tokens of the examples are as long as Apple's, so that they can be pasted`(name: String) throws {
        let page = try Self.page(Self.path(of: name))
        let tokens = page.matches(of: #/(?:ARRAY\[|register_token\('acme', )'([^']*)'/#).map(\.output.1)
        #expect(tokens.isEmpty == false)
        for token in tokens { #expect(token.count == 64 && token.allSatisfy(\.isHexDigit), "\(token)") }
    }
}
