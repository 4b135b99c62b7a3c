/// The answer to a claim.
package struct ClaimAnswer: Sendable {
    /// A row that was left behind because its pushes did not fit.
    package struct NextRow: Equatable, Sendable {
        package let id: Int64
        package let pushes: Int
    }

    /// Nil: there was nothing that fits.
    package internal(set) var jobs: ClaimedJobs?
    package internal(set) var rows = 0
    /// The lowest id among them.
    package internal(set) var first: Int64?
    package internal(set) var next: NextRow?
}
