import TestSupport
import Testing

@testable import CarillonPushQueue

/// The arguments that the program gives `carillon.settle`, against the function of a migrated database.
@Suite(.demo) struct SettleArgumentsTests {
    @Test func `the program gives the function that settles all of its arguments, of its types`() async throws {
        let columns = SettleArguments.all.map { "('\($0.name)', \($0.typeID))" }.joined(separator: ", ")
        let given = try await database.rows(
            """
            SELECT name, format_type(type, NULL) FROM (VALUES \(columns)) AS c(name, type)
            ORDER BY name COLLATE "C"
            """
        )
        let expected = try await database.rows(
            """
            SELECT a.name, format_type(a.type, NULL)
            FROM pg_proc p, unnest(p.proargnames, p.proargtypes::oid[]) AS a(name, type)
            WHERE p.oid = 'carillon.settle'::regproc ORDER BY a.name COLLATE "C"
            """
        )
        #expect(given == expected)
        #expect(given.contains("(ended,bigint[])"))
    }
}
