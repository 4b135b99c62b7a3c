import CarillonPostgres

/// Identifies a claim that was made. The number alone does not: claims commit asynchronously, so a crash of the database may
/// undo one and give its number to another while its pushes are in flight.
struct ClaimKey: Hashable, Decodable, Sendable {
    let id: Int64
    let claimedAt: Int64

    /// The claims of a worker that it does not know.
    static let strays = Statement(
        "strays",
        "SELECT f.id, f.claimed_at FROM carillon.inflight f WHERE f.worker_id = $1 AND f.id <> ALL ($2)"
    )

    /// - Parameter known: The claims that the worker knows.
    static func parameters(straysOf worker: Int64, butFor known: Set<Int64>) -> Parameters {
        Parameters(worker, PostgresArray(known))
    }

    /// Releases claims by their keys: a crash of the database may have given the number to another claim of this worker.
    static let release = Statement(
        "release",
        """
        SELECT carillon.release($1, ARRAY(
            SELECT f.id FROM carillon.inflight f JOIN unnest($2::bigint[], $3::timestamptz[]) AS k(id, claimed_at)
                ON f.id = k.id AND f.claimed_at = k.claimed_at WHERE f.worker_id = $1))
        """
    )

    static func parameters(releasing claims: some Sequence<ClaimKey>, of worker: Int64) -> Parameters {
        Parameters(
            worker,
            PostgresArray(claims.lazy.map(\.id)),
            PostgresArray(claims.lazy.map { Moment($0.claimedAt) })
        )
    }
}
