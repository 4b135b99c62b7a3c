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

    @Test func `what may be too large is tried with less`() {
        for state in ["54000", "53200", "XX000"] { #expect(PostgresError(.server, "?", sqlState: state).isAboutSize) }
        #expect(!PostgresError(.server, "?", sqlState: "40001").isAboutSize)
        #expect(!PostgresError(.unreachable, "?").isAboutSize)
    }
}
