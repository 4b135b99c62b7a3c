/// Reads by the names of columns, in any order. For answers of few rows: each value costs a search for its name.
extension Rows {
    package func isNull(_ row: Int, _ column: String) throws(PostgresError) -> Bool {
        isNull(row, try place(of: column))
    }

    package func int64(_ row: Int, _ column: String) throws(PostgresError) -> Int64 {
        try int64(row, try place(of: column))
    }

    package func int64IfPresent(_ row: Int, _ column: String) throws(PostgresError) -> Int64? {
        try int64IfPresent(row, try place(of: column))
    }

    package func int32(_ row: Int, _ column: String) throws(PostgresError) -> Int32 {
        try int32(row, try place(of: column))
    }

    package func int32IfPresent(_ row: Int, _ column: String) throws(PostgresError) -> Int32? {
        try int32IfPresent(row, try place(of: column))
    }

    package func int16(_ row: Int, _ column: String) throws(PostgresError) -> Int16 {
        try int16(row, place(of: column))
    }

    package func double(_ row: Int, _ column: String) throws(PostgresError) -> Double {
        try double(row, place(of: column))
    }

    package func bool(_ row: Int, _ column: String) throws(PostgresError) -> Bool {
        try bool(row, try place(of: column))
    }

    package func timestamp(_ row: Int, _ column: String) throws(PostgresError) -> Int64 {
        try timestamp(row, try place(of: column))
    }

    package func timestampIfPresent(_ row: Int, _ column: String) throws(PostgresError) -> Int64? {
        try timestampIfPresent(row, try place(of: column))
    }

    package func string(_ row: Int, _ column: String) throws(PostgresError) -> String {
        try string(row, try place(of: column))
    }

    package func strings(_ row: Int, _ column: String) throws(PostgresError) -> [String?] {
        try strings(row, try place(of: column))
    }

    package func stringIfPresent(_ row: Int, _ column: String) throws(PostgresError) -> String? {
        try stringIfPresent(row, try place(of: column))
    }

    private func place(of column: String) throws(PostgresError) -> Int {
        guard let place = result.place(of: column) else {
            throw PostgresError(.unexpectedValue, "the answer has no column named \(column)")
        }
        return place
    }
}
