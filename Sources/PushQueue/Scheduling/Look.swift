import IO

/// A look for lanes that have rows.
struct Look: Sendable {
    let began: MonotonicInstant
    /// Nothing was asked for or in flight.
    let wasIdle: Bool
    /// Rows that were due and have been moved to the queue.
    var promoted = 0
    /// What it cost the server, as far as that is known; the time until the answer is mostly that of other statements.
    var cost: Duration?
}

/// Rows of one lane that were due and have been moved to the queue.
struct Promotion: Sendable {
    let lane: Lane
    let lowest: Int64
    let rows: Int
}
