/// A value that can be read from a row of an answer.
package protocol RowReadable: Sendable {
    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError)
}
