import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct PostgresErrorKindTests {
    /// A row whose statement is too large is given up for good.
    @Test(arguments: [
        ("54000", "out of memory", true), ("54001", "stack depth limit exceeded", true),
        ("XX000", "invalid memory alloc request size 1073741824", true),
        ("XX000", "tuple concurrently updated", false), ("XX000", "cache lookup failed for type 1", false),
        ("53200", "out of memory", false), ("40001", "could not serialize access", false),
    ])
    func `only what is too large for any server is too large for good`(state: String, message: String, isTooLarge: Bool)
    {
        #expect(PostgresError(.server, message, sqlState: state).isTooLarge == isTooLarge)
    }

    @Test(
        arguments: [
            ("42501", .everything), ("42P01", .everything), ("42846", .everything), ("3F000", .everything),
            ("25006", .everything), ("53100", .everything), ("58030", .everything), ("57P01", .everything),
            ("P0001", .lane), ("23514", .lane), ("55P03", .lane), ("40P01", .lane), ("53200", .size), ("54000", .size),
        ] as [(state: String, fault: ClaimFault)]
    )
    func `all claims wait after an error that says nothing of the lane`(state: String, fault: ClaimFault) {
        #expect(ClaimFault(PostgresError(.server, "?", sqlState: state)) == fault)
    }

    @Test func `claims wait for a connection, and a lane for what cannot be read`() {
        #expect(ClaimFault(PostgresError(.closed, "?")) == .connection)
        #expect(ClaimFault(PostgresError(.unexpectedValue, "?")) == .lane)
        var raised = PostgresError(.server, "?", sqlState: "42501")
        raised.isOfTrigger = true
        #expect(ClaimFault(raised) == .lane)
    }

    @Test func `a full queue of notifications says nothing of a row or its size`() {
        var full = PostgresError(.server, "too many notifications in the NOTIFY queue", sqlState: "54000")
        full.isOfNotifications = true
        #expect(!full.isTooLarge && !full.isAboutSize)
        #expect(ClaimFault(full) == .everything)
    }

    @Test func `a statement that may be too large is tried with less`() {
        for state in ["54000", "53200", "XX000"] { #expect(PostgresError(.server, "?", sqlState: state).isAboutSize) }
        #expect(!PostgresError(.server, "?", sqlState: "40001").isAboutSize)
        #expect(!PostgresError(.unreachable, "?").isAboutSize)
    }
}
