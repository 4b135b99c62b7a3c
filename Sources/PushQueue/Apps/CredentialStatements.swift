import ApplePush
import CarillonPostgres

/// The statements about credentials and provider tokens. Each is a transaction of its own.
enum CredentialStatements {
    private static let token = Statement(
        "provider_token",
        "SELECT t.token, t.made_at, t.renews_in, t.clock FROM carillon.provider_token($1, $2, $3) AS t"
    )

    /// The token that all workers use now. If there is none, the caller mints one with the time returned, and asks again.
    ///
    /// - Parameters:
    ///   - since: When the credential was written.
    ///   - refused: A token that the gateway has refused.
    ///   - minted: Is kept for all workers first, unless another one was faster. The server may log what a statement says, but
    ///     never what `COPY` copies.
    static func providerToken(
        of certificate: Int32,
        _ since: Int64,
        refusing refused: ProviderToken?,
        keeping minted: ProviderToken?,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> (ProviderToken?, now: Int64) {
        if let minted {
            var row = CopyRows()
            row.begin(columns: 5)
            row.append(certificate)
            row.append(timestamp: since)
            row.append(refused?.issuedAt)
            row.append(minted.jwt)
            row.append(minted.issuedAt)
            try await connection.copy(
                "COPY carillon.provider_token_input (certificate_id, since, refused_at, jwt, issued_at) FROM STDIN (FORMAT binary)",
                row
            )
        }
        let parameters = Parameters(certificate, Moment(since), refused?.issuedAt)
        return try await connection.query(token, parameters) { rows in
            let now = try rows.int64(0, "clock")
            if try rows.isNull(0, "token") { return (nil, now) }
            let token = ProviderToken(
                jwt: try rows.string(0, "token"),
                issuedAt: try rows.int64(0, "made_at"),
                renewsIn: .seconds(try rows.int64(0, "renews_in"))
            )
            return (token, now)
        }
    }

    /// Calls the function above in one database, and passes on a token to keep there. Nil if the database does not have the key.
    typealias TokenAsk = @Sendable (_ kept: ProviderToken?) async throws -> (ProviderToken?, now: Int64)?

    /// The same token in each of these databases, minted if none has one. Each worker then mints one with the time of the first
    /// database; the first that is stored there is used by all.
    /// - Returns: The token, and whether it was minted here.
    static func providerToken(
        by key: ProviderTokenKey,
        in databases: [TokenAsk]
    ) async throws -> (ProviderToken, isMinted: Bool) {
        var minted: ProviderToken?
        var kept: ProviderToken?
        for _ in 0..<3 {
            var (found, now, failure) = (nil as ProviderToken?, nil as Int64?, nil as (any Error)?)
            var isComplete = true
            for ask in databases {
                do {
                    guard let (token, time) = try await ask(found ?? kept) else { continue }
                    found = found ?? token
                    now = now ?? time
                    if token == nil { isComplete = false }
                } catch {
                    // Another database is enough. The worker of this one logs what is wrong with it.
                    failure = error
                }
            }
            if let found, isComplete || kept != nil { return (found, found == minted) }
            guard let now else { throw failure ?? PushError(.noProviderToken, "\(key) is no longer in use") }
            if found == nil { minted = key.mint(at: now) }
            kept = found ?? minted
        }
        throw PushError(.noProviderToken, "\(key) was just replaced")
    }

    /// An app for each credential with that key.
    static let appsWithKey = Statement(
        "apps_with_key",
        """
        SELECT min(a.id) AS id FROM carillon.certificates c JOIN carillon.apps a ON a.certificate_id = c.id
        WHERE c.key_id = $1 AND c.team_id = $2 GROUP BY c.id
        """
    )

    /// Certificates in use that expire soon.
    static let expiring = Statement(
        "expiring",
        """
        SELECT c.id, c.name, floor(extract(epoch FROM greatest(c.not_after, '2000-01-01 00:00+00') - now()) / 86400)::bigint AS days
        FROM carillon.certificates c
        WHERE carillon.validity(c.not_after) <> 'ok'
            AND EXISTS (SELECT FROM carillon.apps a WHERE a.certificate_id = c.id)
        ORDER BY c.id
        """
    )

    /// Sets the status of certificates that expire soon. Locked rows are left for the next time.
    static let age = Statement(
        "age_credentials",
        """
        UPDATE carillon.certificates c
        SET status = carillon.validity(c.not_after)
        WHERE c.id = ANY (ARRAY(
            SELECT o.id FROM carillon.certificates o
            WHERE o.status IN ('ok', 'expiring') AND o.status <> carillon.validity(o.not_after)
            FOR NO KEY UPDATE SKIP LOCKED))
        """
    )
}
