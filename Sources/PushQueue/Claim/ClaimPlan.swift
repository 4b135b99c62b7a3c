/// A claim to make: rows of one lane, as many as fit.
package struct ClaimPlan: Hashable, Sendable {
    /// No claim takes more rows or pushes. A row with more pushes is split.
    static let largest = 1000

    package let lane: Lane
    /// Which of the slots for claims it takes.
    let depth: Lane.Depth
    /// Where the scan starts.
    package let floor: Int64
    /// The most rows.
    package let rows: Int32
    /// The most pushes of all these rows together.
    package let pushes: Int32
    /// It counts as a try of what PostgreSQL refuses: see `RefusedStatementPace`.
    var isTry = false
}
