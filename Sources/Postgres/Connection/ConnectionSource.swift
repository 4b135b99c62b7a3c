/// A source of a connection string, which is read again for each connection.
package protocol ConnectionSource: Sendable {
    /// Shared by all connections of a service; nil if nothing is remembered.
    var silentHost: SilentHost? { get }

    func current() throws(PostgresError) -> String
}
