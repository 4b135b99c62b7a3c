import ApplePush
import CarillonIO

/// The jobs of a claim and the progress of their settlement.
struct UnsettledClaim: Sendable {
    enum Progress: Sendable {
        case unsettled
        /// The first of two settlements is written, with these outcomes.
        case partSettled(Outcomes)
        /// Another worker has taken the claim over.
        case lost
    }

    var jobs: ClaimedJobs
    /// The lowest id of the jobs that were claimed.
    let lowest: Int64
    /// The worker's id when it claimed, which fences the settlement.
    let worker: Int64
    let returnedAt: MonotonicInstant
    var maxAttempts = Int16.max
    /// The route by which its pushes were sent; nil if none was sent.
    var route: App.Route?
    /// Why the app cannot send, by the latest outcomes.
    var hold: Hold?
    var progress = Progress.unsettled
    /// PostgreSQL also refuses the counts of a job.
    var isStuck = false
    /// Pushes that are not settled.
    var pushes: Int

    init(_ jobs: ClaimedJobs, claimedAs worker: Int64, returnedAt: MonotonicInstant) {
        self.jobs = jobs
        lowest = jobs.lowest
        self.worker = worker
        self.returnedAt = returnedAt
        pushes = jobs.batch.count
    }

    /// The outcomes in the first settlement, once it is written.
    var settled: Outcomes? {
        if case .partSettled(let outcomes) = progress { outcomes } else { nil }
    }

    /// How many settlements there were.
    var settlementNumber: Int16 { settled == nil ? 0 : 1 }

    var lane: Lane { Lane(app: jobs.app, number: jobs.lane) }
}
