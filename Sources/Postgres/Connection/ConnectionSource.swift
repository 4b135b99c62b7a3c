/// Where a connection string comes from: it is read again for each connection.
package protocol ConnectionSource: Sendable {
    func current() throws(PostgresError) -> String
}
