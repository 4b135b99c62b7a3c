package import Postgres

/// What exactly one worker of the fleet does at a time, and when it is due: a row of `chores`.
///
/// The lease of the worker that holds it says that somebody is at it. When that one dies, another goes on at once.
package struct FleetHold: Sendable {
    package static let history = FleetHold(name: "maintain")
    package static let feedback = FleetHold(name: "feedback")

    let name: String

    /// It was begun so long ago that the next time is due, or, which can only be if the database's clock was set back, in
    /// the future; or whoever was at it is dead.
    private static let isDueNow = """
        c.name = $1 AND (c.held_by IS NULL AND (c.next_run <= now()
                OR c.next_run - c.every + coalesce(make_interval(secs => $2), c.every) <= now()
                OR c.next_run - c.every > now())
            OR c.held_by = $3
            OR c.held_by IS NOT NULL AND NOT EXISTS (SELECT FROM carillon.workers w WHERE w.id = c.held_by))
        """

    /// A look that waits for nobody.
    static let isDue = Statement("is_due", "SELECT EXISTS (SELECT FROM carillon.chores c WHERE \(isDueNow))")

    /// Whoever gets the row does it.
    static let take = Statement(
        "take",
        """
        UPDATE carillon.chores c SET next_run = now() + coalesce(make_interval(secs => $2), c.every),
            every = coalesce(make_interval(secs => $2), c.every), held_by = $3
        WHERE \(isDueNow)
        """
    )

    /// It is done.
    static let end = Statement(
        "end_hold_of_fleet",
        "UPDATE carillon.chores c SET held_by = NULL WHERE c.name = $1 AND c.held_by = $2"
    )

    /// - Parameters:
    ///   - interval: nil: as the row says.
    ///   - worker: whose lease says that it is at it; nil: nobody's.
    func parameters(every interval: Duration?, worker: Int64?) -> Parameters {
        var parameters = Parameters()
        parameters.append(name)
        parameters.append(interval?.inSeconds)
        parameters.append(worker)
        return parameters
    }

    func parameters(of worker: Int64) -> Parameters {
        var parameters = Parameters()
        parameters.append(name)
        parameters.append(worker)
        return parameters
    }

    /// For programs that are no workers: whether it is due, and theirs.
    package func take(every interval: Duration, on connection: PostgresConnection) async throws(PostgresError) -> Bool {
        try await connection.execute(Self.take, parameters(every: interval, worker: nil)) == 1
    }
}
