import TestSupport
import Testing

@testable import CarillonPostgres

/// Which errors of PostgreSQL are transient, and which are refusals: the program and the SQL functions agree.
@Suite(.demo) struct TransientErrorTests {
    /// Codes of every class that PostgreSQL has, and of some that it does not have.
    private static let refusals = [
        "0A000", "21000", "22001", "22P02", "23502", "23505", "23514", "24000", "25001", "25P02", "28000", "2201W",
        "2BP01",
        "34000", "38000", "39000", "3B001", "3D000", "3F000", "42501", "42601", "42703", "42704", "42804", "42846",
        "42883", "42P01", "42P13", "42P17",
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
        for state in Self.refusals + Self.transient {
            let isTransient = try await database.value("carillon.is_transient('\(state)')") == "true"
            #expect(isTransient == Self.transient.contains(state), "\(state)")
        }
    }

    /// A full queue of notifications is reported at the commit, with the SQLSTATE of a row that is too large.
    @Test func `notifications that do not fit into their queue refuse no row`() {
        var error = PostgresError(.server, "too many notifications in the NOTIFY queue", sqlState: SQLState.tooLarge)
        #expect(error.isRefusal)
        error.isOfNotifications = true
        #expect(error.isTransient && !error.isRefusal)
        #expect(ServerResult.isOfNotifications("async.c") && !ServerResult.isOfNotifications("heapam.c"))
    }

    private static let schemaOrRights: Set = [
        "3F000", "42501", "42703", "42804", "42846", "42883", "42P01", "42P13", "42P17",
    ]

    /// Contexts of errors in functions of ours.
    private static let ours = [
        "",
        """
        SQL statement "INSERT INTO carillon.results SELECT pg_catalog.now()"
        PL/pgSQL function carillon.settle(integer,bigint) line 120 at SQL statement
        """,
        """
        SQL-Anweisung »INSERT INTO carillon.results SELECT pg_catalog.now()«
        PL/pgSQL-Funktion settle(integer,bigint) Zeile 120 bei SQL-Anweisung
        """,
    ]
    /// Contexts of errors in triggers of users.
    private static let theirs = [
        "PL/pgSQL function refuse() line 2 at RAISE\n", "PL/pgSQL function public.\"Refuse it\"() line 2 at RAISE\n",
        "SQL statement \"TABLE secrets\"\nPL/pgSQL function public.note() line 1 at SQL statement\n",
        "PL/pgSQL-Funktion refuse() Zeile 2 bei RAISE\n", "fonction PL/pgSQL refuse(), ligne 2, à RAISE\n",
        "PL/pgSQL関数refuse()の2行目 - RAISE\n", "PL/Python function \"refuse\"\n",
    ]

    @Test func `errors of schema and rights refuse no row, unless a trigger raises them`() async throws {
        for context in Self.ours { #expect(!ServerResult.hasTrigger(context), "\(context)") }
        for context in Self.theirs {
            for own in Self.ours { #expect(ServerResult.hasTrigger(context + own), "\(context)") }
        }
        for state in Self.refusals {
            let error = PostgresError(.server, "no", sqlState: state)
            #expect(error.isRefusal == !Self.schemaOrRights.contains(state), "\(state)")
        }
        for state in Self.transient { #expect(!PostgresError(.server, "no", sqlState: state).isRefusal, "\(state)") }
        #expect(PostgresError(.unexpectedValue, "too large").isRefusal)
        for state in Self.refusals + Self.transient {
            for (context, isTheirs) in Self.ours.map({ ($0, false) })
                + Self.theirs.map({ ($0 + Self.ours[1], true) })
            {
                let isRefusal =
                    try await database.value("carillon.is_refusal('\(state)', $$\(context)$$)") == "true"
                let isExpected =
                    !Self.transient.contains(state) && (isTheirs || !Self.schemaOrRights.contains(state))
                #expect(isRefusal == isExpected, "\(state): \(context)")
            }
        }
    }
}
