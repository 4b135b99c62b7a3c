extension Rows {
    package func int64IfPresent(_ row: Int, _ column: Column) throws(PostgresError) -> Int64? {
        try isNull(row, column) ? nil : int64(row, column)
    }

    package func int32IfPresent(_ row: Int, _ column: Column) throws(PostgresError) -> Int32? {
        try isNull(row, column) ? nil : int32(row, column)
    }

    package func int16IfPresent(_ row: Int, _ column: Column) throws(PostgresError) -> Int16? {
        try isNull(row, column) ? nil : int16(row, column)
    }

    package func momentIfPresent(_ row: Int, _ column: Column) throws(PostgresError) -> Moment? {
        try isNull(row, column) ? nil : moment(row, column)
    }

    package func stringIfPresent(_ row: Int, _ column: Column) throws(PostgresError) -> String? {
        try isNull(row, column) ? nil : string(row, column)
    }
}
