/// An SQL statement that each connection prepares on first use. Create it once, as a `static let`.
package struct Statement: Sendable {
    /// The name on the server and in errors. No two statements may share one.
    package let name: String
    package let sql: String

    package init(_ name: String, _ sql: String) {
        precondition(!name.isEmpty && name.utf8.count < 64, "PostgreSQL's names have 1 to 63 bytes")
        self.name = name
        self.sql = sql
    }
}
