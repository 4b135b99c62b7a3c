/// Reading what may be null.
extension Rows {
    package func int64IfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
        self.isNull(row, column) ? nil : try self.int64(row, column)
    }

    package func int32IfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int32? {
        self.isNull(row, column) ? nil : try self.int32(row, column)
    }

    package func int16IfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int16? {
        self.isNull(row, column) ? nil : try self.int16(row, column)
    }

    package func timestampIfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
        self.isNull(row, column) ? nil : try self.timestamp(row, column)
    }

    package func stringIfPresent(_ row: Int, _ column: Int) throws(PostgresError) -> String? {
        self.isNull(row, column) ? nil : try self.string(row, column)
    }
}
