package import CarillonPostgres

/// How many rows lie outside the partitions of their days.
package struct DefaultPartition: RowReadable {
    static let statement = Statement(
        "default_partition_rows",
        "SELECT r.relation, r.rows FROM carillon.default_partition_rows() AS r"
    )

    package let table: String
    /// An estimate if there are many.
    package let rows: Int64

    package init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        table = try rows.string(row, "relation")
        self.rows = try rows.int64(row, "rows")
    }
}
