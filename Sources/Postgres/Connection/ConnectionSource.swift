/// A source of a connection string, which is read again for each connection.
package protocol ConnectionSource: Sendable {
    func current() throws(PostgresError) -> String
}
