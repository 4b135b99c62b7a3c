/// Reading by the names of columns, which may then stand in any order. For answers of few rows: each value costs a look
/// for its name.
extension Rows {
    package func isNull(_ row: Int, _ column: String) throws(PostgresError) -> Bool {
        self.isNull(row, try self.place(of: column))
    }

    package func int64(_ row: Int, _ column: String) throws(PostgresError) -> Int64 {
        try self.int64(row, try self.place(of: column))
    }

    package func int64IfPresent(_ row: Int, _ column: String) throws(PostgresError) -> Int64? {
        try self.int64IfPresent(row, try self.place(of: column))
    }

    package func int32(_ row: Int, _ column: String) throws(PostgresError) -> Int32 {
        try self.int32(row, try self.place(of: column))
    }

    package func int32IfPresent(_ row: Int, _ column: String) throws(PostgresError) -> Int32? {
        try self.int32IfPresent(row, try self.place(of: column))
    }

    package func bool(_ row: Int, _ column: String) throws(PostgresError) -> Bool {
        try self.bool(row, try self.place(of: column))
    }

    package func timestamp(_ row: Int, _ column: String) throws(PostgresError) -> Int64 {
        try self.timestamp(row, try self.place(of: column))
    }

    package func timestampIfPresent(_ row: Int, _ column: String) throws(PostgresError) -> Int64? {
        try self.timestampIfPresent(row, try self.place(of: column))
    }

    package func string(_ row: Int, _ column: String) throws(PostgresError) -> String {
        try self.string(row, try self.place(of: column))
    }

    package func strings(_ row: Int, _ column: String) throws(PostgresError) -> [String?] {
        try self.strings(row, try self.place(of: column))
    }

    package func stringIfPresent(_ row: Int, _ column: String) throws(PostgresError) -> String? {
        try self.stringIfPresent(row, try self.place(of: column))
    }

    private func place(of column: String) throws(PostgresError) -> Int {
        guard let place = self.result.place(of: column) else {
            throw PostgresError(.unexpectedValue, "the answer has no column named \(column)")
        }
        return place
    }
}
