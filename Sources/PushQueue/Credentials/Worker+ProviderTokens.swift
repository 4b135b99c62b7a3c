import ApplePush
import CarillonIO
import CarillonPostgres

/// The provider tokens of the fleet: one for each signing key, stored in the database and dated by its clock.
extension Worker {
    /// The token that all workers use now. If a new one is due, each worker mints one with the database's time; the first that
    /// is stored is used by all.
    func providerToken(_ key: ProviderTokenKey, refusing refused: ProviderToken?) async throws -> ProviderToken {
        var minted: ProviderToken?
        for _ in 0..<3 {
            guard let row = core.state.limits.apps.row(holding: key.digest) else {
                throw PushError(.noProviderToken, "\(key) is no longer in use")
            }
            guard let connection = database.current else {
                throw PushError(.noProviderToken, "there is no connection to PostgreSQL")
            }
            let parameters = Parameters(
                row.certificate,
                Timestamp(row.since),
                refused?.jwt,
                minted?.jwt,
                minted?.issuedAt
            )
            do throws(PostgresError) {
                let (token, now) = try await database.ask(connection, WorkerStatements.providerToken, parameters) {
                    rows in
                    (try rows.isNull(0, "token") ? nil : ProviderToken(rows), try rows.int64(0, "clock"))
                }
                guard let token else {
                    minted = key.mint(at: now)
                    continue
                }
                if token == minted { ledger.log(.tokenMinted("\(key)")) }
                return token
            } catch {
                database.failed(error, on: connection)
                throw error
            }
        }
        throw PushError(.noProviderToken, "\(key) was just replaced")
    }
}
