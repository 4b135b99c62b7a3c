import CarillonPostgres
import TestSupport
import Testing

/// Which errors of PostgreSQL are transient, and which are refusals: the program and the SQL functions agree.
@Suite struct TransientTests {
    /// Codes of every class that PostgreSQL has, and of some that it does not have.
    private static let refusals = [
        "0A000", "21000", "22001", "22P02", "23502", "23505", "23514", "24000", "25001", "25P02", "28000", "2201W",
        "2BP01",
        "34000", "38000", "39000", "3B001", "3D000", "3F000", "42501", "42601", "42703", "42883", "42P01", "42P17",
        "44000",
        "54000", "54001", "55000", "55006", "55P02", "57000", "72000", "F0000", "HV000", "P0001", "P0004", "XX000",
        "XX001", "99999", "U0001",
    ]
    private static let transient = [
        "08000", "08006", "40001", "40P01", "40003", "53100", "53200", "53300", "55P03", "57014", "57P01", "57P02",
        "57P03",
        "57P05", "25006", "25P03", "25P04", "58000", "58030",
    ]

    @Test func `errors of locks, time limits, conflicts, servers and disks are transient, and all others are refusals`()
        async throws
    {
        for state in Self.refusals { #expect(!PostgresError(.server, "no", sqlState: state).isTransient, "\(state)") }
        for state in Self.transient { #expect(PostgresError(.server, "no", sqlState: state).isTransient, "\(state)") }
        for code in [PostgresError.Code.closed, .unreachable, .cancelled, .authentication] {
            #expect(PostgresError(code, "gone").isTransient)
        }
        // Data that cannot be sent or read now cannot be later either.
        #expect(!PostgresError(.unexpectedValue, "too large").isTransient)
        try await TestDatabase.withDemo { database async throws in
            for state in Self.refusals + Self.transient {
                let isTransient = try await database.value("carillon.is_transient('\(state)')") == "true"
                #expect(isTransient == Self.transient.contains(state), "\(state)")
            }
        }
    }
}
