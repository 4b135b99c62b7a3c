import CarillonPostgres
import CarillonSchema
import TestSupport
import Testing

@testable import CarillonPushQueue

/// What a worker looks at before it begins.
@Suite struct PlanCheckTests {
    @Test(.demo) func `the check finds no fault with the schema, empty or full`() async throws {
        #expect(try await PlanCheck.run(on: database.connection) == [])
        try await database.run(
            """
            INSERT INTO carillon.messages (app_id, tokens, payload)
            SELECT 1, '{aa}', '{}' FROM generate_series(1, 20000);
            ANALYZE carillon.messages
            """
        )
        #expect(try await PlanCheck.run(on: database.connection) == [])
        try await SchemaCheck.runWithPlans(on: database.connection)
    }

    /// As behind a pooler, where another program has used the session.
    @Test(.demo) func `the check needs no name that others may have taken`() async throws {
        try await database.run("PREPARE carillon_plan AS SELECT 1")
        #expect(try await PlanCheck.run(on: database.connection) == [])
        #expect(
            try await database.value("SELECT string_agg(p.name, ' ') FROM pg_prepared_statements p WHERE p.from_sql")
                == "carillon_plan"
        )
    }

    @Test(.demo) func `a check that fails leaves no statement in the session`() async throws {
        try await database.run("SET ROLE carillon_app")
        let error = await #expect(throws: PostgresError.self) { try await PlanCheck.run(on: database.connection) }
        #expect(error?.sqlState == "42501")
        #expect(try await database.number("SELECT count(*) FROM pg_prepared_statements WHERE from_sql") == 0)
    }

    @Test func `the check finds what is due as promote does`() throws {
        func words(_ text: some StringProtocol) -> String {
            text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let promote = try #require(Routines.current.functions.first { $0.path == "functions/queue/promote.sql" })
        let query = PlanCheck.due.sql.replacing("$1::timestamptz", with: "after")
            .replacing("$2::bigint", with: "after_id").replacing("$3", with: "max_jobs")
        let start = try #require(query.firstRange(of: "FROM carillon.scheduled")).lowerBound
        #expect(words(promote.text).contains(words(query[start...])))
    }

    @Test(.demo) func `the check names the statements whose index is missing`() async throws {
        try await database.run("DROP INDEX carillon.scheduled_by_time")
        let faults = try await PlanCheck.run(on: database.connection)
        let names = Set(faults.compactMap { $0.firstMatch(of: /statement ([a-z_]+)/).map { String($0.output.1) } })
        #expect(names == ["due_jobs", "look"] && faults.count == 2, "\(faults)")
        try await database.run("ALTER TABLE carillon.messages DROP CONSTRAINT messages_pkey")
        let more = try await PlanCheck.run(on: database.connection)
        #expect(more.count == 4 && more.allSatisfy { $0.contains("carillon.") })
        let error = await #expect(throws: SchemaError.self) {
            try await SchemaCheck.runWithPlans(on: database.connection)
        }
        #expect(error?.code == .plans)
    }
}
