package import Postgres

/// The one row that says when a feedback pass is due, and who is at it.
package enum FeedbackChore {
    /// It was begun so long ago that the next one is due, or, which can only be if the database's clock was set back, in the
    /// future; or whoever was at it is dead.
    private static let isDueNow = """
        (c.held_by IS NULL AND (c.next_run <= now() OR c.next_run - c.every + make_interval(secs => $1) <= now()
                OR c.next_run - c.every > now())
            OR c.held_by = $2
            OR c.held_by IS NOT NULL AND NOT EXISTS (
                SELECT FROM carillon.workers w WHERE w.id = c.held_by))
        """

    /// A look that waits for nobody.
    static let isDue = Statement(
        "feedback_is_due",
        "SELECT EXISTS (SELECT FROM carillon.chores c WHERE c.name = 'feedback' AND \(isDueNow))"
    )

    /// Whoever gets the row runs the pass.
    static let take = Statement(
        "take_feedback",
        """
        UPDATE carillon.chores c SET next_run = now() + make_interval(secs => $1), every = make_interval(secs => $1),
            held_by = $2
        WHERE c.name = 'feedback' AND \(isDueNow)
        """
    )

    /// It is done.
    static let end = Statement(
        "end_feedback",
        "UPDATE carillon.chores c SET held_by = NULL WHERE c.name = 'feedback' AND c.held_by = $1"
    )

    /// - Parameter worker: whose lease says that it is at it; nil: nobody's.
    static func parameters(every interval: Duration, worker: Int64?) -> Parameters {
        var parameters = Parameters()
        parameters.append(interval.inSeconds)
        parameters.append(worker)
        return parameters
    }

    /// For programs that are no workers: whether a pass is due, and theirs.
    package static func take(
        every interval: Duration,
        on connection: PostgresConnection
    ) async throws(PostgresError) -> Bool {
        try await connection.execute(Self.take, Self.parameters(every: interval, worker: nil)) == 1
    }
}
