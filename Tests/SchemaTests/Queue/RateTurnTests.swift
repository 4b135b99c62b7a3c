import CarillonPostgres
import TestSupport
import Testing

@testable import CarillonPushQueue

/// The turns by which a fleet keeps the rate of an app.
@Suite(.demo) struct RateTurnTests {
    private func turn(_ database: TestDatabase, pushes: Int = 1, app: Int32 = 1) async throws -> Int64? {
        try await database.connection.query(
            FlightStatements.takeTurn,
            FlightStatements.parameters(takingTurnFor: pushes, of: app)
        ) { rows in
            try rows.int64IfPresent(0, 0)
        }
    }

    @Test func `turns are spaced at nine tenths of the rate, for all workers together`() async throws {
        try await database.run("UPDATE carillon.apps SET max_rate = 10")
        var ends: [Int64] = []
        try await database.session { other in
            for number in 0..<9 {
                _ = try #require(try await turn(number % 2 == 0 ? database : other))
                let end = try await database.value(
                    "SELECT (extract(epoch FROM r.next_at) * 1000000)::bigint FROM carillon.rates r"
                )
                ends.append(try #require(Int64(end ?? "")))
            }
        }
        for (one, next) in zip(ends, ends.dropFirst()) { #expect(next - one >= 111_111, "\(ends)") }
    }

    @Test func `no turn is given when all turns of the next second are taken`() async throws {
        try await database.run("UPDATE carillon.apps SET max_rate = 10")
        #expect(try await turn(database, pushes: 15) == 0)
        #expect(try await turn(database) == nil)
        #expect(try await turn(database) == nil)
        // A clock that was set back delays no turn.
        try await database.run("UPDATE carillon.rates SET next_at = now() + interval '1 hour'")
        #expect(try await turn(database) == 0)
    }

    @Test func `an app without max_rate has no row of rates`() async throws {
        for app in [1, 4711] as [Int32] {
            #expect(try await turn(database, pushes: 100_000, app: app) == 0)
            #expect(try await turn(database, pushes: 100_000, app: app) == 0)
        }
        #expect(try await database.value("SELECT count(*) FROM carillon.rates") == "0")
    }
}
