/// A claim to make: rows of one lane, as many as fit.
package struct ClaimPlan: Hashable, Sendable {
    package let lane: Lane
    /// Which of the slots for claims it takes.
    let depth: Lane.Depth
    /// Where the scan starts.
    package let floor: Int64
    /// The most rows.
    package let rows: Int32
    /// The most pushes of all these rows together.
    package let pushes: Int32
}

/// Identifies a claim that was made. The number alone does not: claims commit asynchronously, so a crash of the database may
/// undo one and give its number to another while its pushes are in flight.
struct ClaimKey: Hashable, Sendable {
    let id: Int64
    let claimedAt: Int64
}
