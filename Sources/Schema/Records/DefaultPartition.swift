import CarillonPostgres

/// How many rows lie outside the partitions of their days.
package struct DefaultPartition: Decodable, Sendable {
    static let statement = Statement(
        "default_partition_rows",
        "SELECT r.relation AS table, r.rows FROM carillon.default_partition_rows() AS r"
    )

    package let table: String
    /// An estimate if there are many.
    package let rows: Int64
}
