extension PostgresConnection {
    /// Runs one `COPY … FROM STDIN` that reads the bytes, after all earlier statements and before any later one. Returns the number
    /// of rows. An error in the bytes is reported once all of them have been sent.
    @discardableResult
    package func copy(_ sql: String, _ bytes: [UInt8]) async throws(PostgresError) -> Int {
        try await ask(.copy(sql, bytes)).affectedRows
    }

    /// The same for `COPY … FROM STDIN (FORMAT binary)`.
    @discardableResult
    package func copy(_ sql: String, _ rows: consuming CopyRows) async throws(PostgresError) -> Int {
        try await self.copy(sql, rows.bytes())
    }

    /// Runs the body between `BEGIN` and `COMMIT`, or `ROLLBACK` if it throws. No other task may use the connection during the
    /// transaction, because its statements would become part of it.
    package func transaction<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
        // Scripts in it, too, need the settings.
        let openings = isPooled && !settings.isEmpty ? settings.openings : []
        try await script((["BEGIN"] + openings).joined(separator: "; "))
        do {
            let value = try await body()
            let end = try await ask(.script("COMMIT"))
            // PostgreSQL answers this way if a statement failed and its error was ignored.
            if end.commandTag == "ROLLBACK" {
                throw PostgresError(.server, "the transaction was rolled back, because a statement in it had failed")
            }
            return value
        } catch {
            // After a failed COMMIT, or without a connection, there is nothing left to roll back.
            try? await script("ROLLBACK")
            throw error
        }
    }
}
