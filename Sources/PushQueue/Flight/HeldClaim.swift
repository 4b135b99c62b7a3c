import ApplePush
import IO

/// The jobs that a claim brought, and how much of them is settled.
struct HeldClaim: Sendable {
    let jobs: ClaimedJobs
    /// The number under which the claim was made: it fences what is written.
    let worker: Int64
    let answeredAt: MonotonicInstant
    var mostAttempts = Int16.max
    /// The outcomes that the first part was settled with, where the claim is settled in two.
    var settled: Outcomes?
    /// How many pushes are not settled.
    var pushes: Int
    /// Others have taken it over.
    var isLost = false

    init(_ jobs: ClaimedJobs, claimedAs worker: Int64, answeredAt: MonotonicInstant) {
        self.jobs = jobs
        self.worker = worker
        self.answeredAt = answeredAt
        pushes = jobs.batch.count
    }

    /// How many parts are settled.
    var part: Int16 { settled == nil ? 0 : 1 }
}
