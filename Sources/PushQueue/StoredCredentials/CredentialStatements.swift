import ApplePush
import CarillonPostgres
import CarillonSchema

/// The statements about credentials and provider tokens. Each is a transaction of its own.
enum CredentialStatements {
    private static let token = Statement(
        "provider_token",
        "SELECT t.token, t.made_at, t.renews_in, t.clock FROM carillon.provider_token($1, $2, $3) AS t"
    )

    /// The token that all workers use now. If there is none, the caller mints one with the time in the answer, and asks again.
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
        let parameters = Parameters(certificate, Timestamp(since), refused?.issuedAt)
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

    /// The same, minted if there is none. Each worker then mints one with the database's time; the first that is stored is used by
    /// all.
    /// - Parameter ask: Calls the function above, and passes on what was minted.
    /// - Returns: The token, and whether it was minted here.
    static func providerToken(
        by key: ProviderTokenKey,
        _ ask: (_ minted: ProviderToken?) async throws -> (ProviderToken?, now: Int64)
    ) async throws -> (ProviderToken, isMinted: Bool) {
        var minted: ProviderToken?
        for _ in 0..<3 {
            let (token, now) = try await ask(minted)
            if let token { return (token, token == minted) }
            minted = key.mint(at: now)
        }
        throw PushError(.noProviderToken, "\(key) was just replaced")
    }

    /// What the gateway of app $2 says about credential $1 counts if it is Apple, or if all apps with the credential use it. Another
    /// one could harm the apps that do not use it.
    private static let trusted = """
        EXISTS (SELECT FROM carillon.apps a WHERE a.id = $2 AND a.certificate_id = $1 AND (a.gateway IS NULL OR NOT EXISTS (
            SELECT FROM carillon.apps o WHERE o.certificate_id = $1 AND o.gateway IS DISTINCT FROM a.gateway)))
        """

    /// The fleet mints no token for the interval that Apple requires between two of them. If each refusal prolonged it, the present
    /// token could expire.
    static let stopMinting = Statement(
        "stop_minting",
        """
        UPDATE carillon.provider_tokens p SET rests_until = now() + interval '20 minutes'
        WHERE p.certificate_id = $1 AND (p.rests_until BETWEEN now() AND now() + interval '21 minutes') IS NOT TRUE AND \(trusted)
        """
    )

    /// Sets the status of a credential, if it has changed. Null leaves it as it is. A worker finds by itself what is invalid.
    static let judge = Statement(
        "judge_credential",
        """
        UPDATE carillon.certificates c SET status = n.status, last_error = $4
        FROM (
            SELECT o.id, CASE $3 WHEN 'ok' THEN carillon.validity(o.not_after) ELSE coalesce($3, o.status) END AS status
            FROM carillon.certificates o WHERE o.id = $1
        ) AS n
        WHERE c.id = n.id AND (c.status, c.last_error) IS DISTINCT FROM (n.status, $4) AND ($3 = 'invalid' OR \(trusted))
        """
    )

    static func parameters(_ id: Int32, _ app: Int32, _ status: CredentialStatus?, error: String?) -> Parameters {
        Parameters(id, app, status?.rawValue, error)
    }

    /// Records the facts of a credential, once for each text.
    static let record = Statement(
        "record_credential",
        """
        UPDATE carillon.certificates c SET not_after = $3, topics = $4, last_error = $5,
            status = CASE WHEN $5 IS NULL THEN carillon.validity($3) ELSE 'invalid' END
        WHERE c.id = $1 AND c.updated_at = $2 AND c.status IS NULL
        """
    )

    static func parameters(_ finding: CredentialNotes.Finding) -> Parameters {
        let facts = try? finding.facts.get()
        let problem: String? = if case .failure(let hold) = finding.facts { hold.message } else { nil }
        return Parameters(
            finding.certificate,
            Timestamp(finding.since),
            Timestamp(facts?.notAfter.map { $0 * 1_000_000 }),
            PostgresArray(facts?.topics ?? []),
            problem
        )
    }

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
