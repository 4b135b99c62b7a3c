/// A fixed connection string, or one read from elsewhere for each connection, such as a file whose password changes while the
/// program runs.
package struct DatabaseSource: Sendable {
    private let read: @Sendable () throws(PostgresError) -> String
    /// Shared by the copies of this value.
    package let silentHost = SilentHost()

    package init(_ string: String) { read = { () throws(PostgresError) in string } }

    package init(asking read: @escaping @Sendable () throws(PostgresError) -> String) {
        self.read = read
    }

    package func current() throws(PostgresError) -> String { try read() }

    /// How many hosts the string names; one if it cannot be read.
    package var hostCount: Int { (try? ConnectionString(current()).hostCount) ?? 1 }
}
