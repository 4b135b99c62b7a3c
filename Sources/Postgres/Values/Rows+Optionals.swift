/// Reads what may be null.
extension Rows {
    package func int64IfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
        isNull(row, column) ? nil : try int64(row, column)
    }

    package func int32IfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int32? {
        isNull(row, column) ? nil : try int32(row, column)
    }

    package func int16IfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int16? {
        isNull(row, column) ? nil : try int16(row, column)
    }

    package func timestampIfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
        isNull(row, column) ? nil : try timestamp(row, column)
    }

    package func stringIfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> String? {
        isNull(row, column) ? nil : try string(row, column)
    }
}
