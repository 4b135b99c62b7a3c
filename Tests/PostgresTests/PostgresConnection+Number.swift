import CarillonPostgres

extension PostgresConnection {
    /// The one number that a query gives.
    func number(_ sql: String, _ parameters: Parameters = Parameters()) async throws -> Int64 {
        let statement = Statement("number \(String(sql.hashValue, radix: 36))", sql)
        return try await query(statement, parameters) { rows in try rows.int64(0, 0) }
    }
}
