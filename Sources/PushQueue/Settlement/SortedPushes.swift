import ApplePush

/// The pushes of one job, sorted by what their outcomes mean for them. All are positions in the batch.
///
/// A list without pushes allocates nothing, so a job whose pushes were all sent costs no memory here.
struct SortedPushes {
    /// What happens to a push after its outcome.
    private enum Fate {
        case sent
        case failed
        case retried
        case returned
        case pending

        /// - Parameter mayRepeat: The message allows a second send when the outcome is unknown.
        init(_ outcome: Outcome, mayRepeat: Bool, credentialWorks: Bool) {
            switch outcome.verdict {
            case .accepted: self = .sent
            case .safe: self = .returned
            case .pending: self = .pending
            case .unknown: self = mayRepeat ? .retried : .failed
            case .rejected:
                guard outcome.isRetryable else {
                    self = .failed
                    return
                }
                switch outcome.action {
                // The credential works for other pushes, so this push is at fault.
                case .holdCredential where credentialWorks: self = .retried
                case .holdCredential, .renewProviderToken, .keepProviderToken: self = .returned
                default: self = .retried
                }
            }
        }
    }

    /// Pushes to send again.
    struct Repeats {
        fileprivate(set) var pushes: [Int32] = []
        /// Why they were not delivered.
        fileprivate(set) var causes = RetryCause.Counts()
        /// The longest wait that the gateway asked for, in seconds.
        fileprivate(set) var retryAfter: Int32?
    }

    private(set) var sent: Int32 = 0
    /// They failed for good.
    private(set) var failed: [Int32] = []
    /// They have used up an attempt, and have another.
    private(set) var retried = Repeats()
    /// They go back without using up an attempt.
    private(set) var returned = Repeats()
    /// They go back to be tried in the other environment.
    private(set) var misdirected = Repeats()
    /// They have not ended.
    private(set) var pending: [Int32] = []
    /// How many of them, whatever their fate, have an unknown outcome.
    private(set) var unknown = 0

    init(
        _ pushes: some Sequence<Int32>,
        of job: ClaimedJobs.Job,
        _ outcomes: Outcomes,
        credentialWorks: Bool,
        maxAttempts: Int16,
        triesOtherEnvironment: Bool
    ) {
        for push in pushes {
            let outcome = outcomes[Int(push)]
            if outcome.verdict == .unknown { unknown += 1 }
            switch Fate(outcome, mayRepeat: job.mayRepeat, credentialWorks: credentialWorks) {
            case .sent: sent += 1
            case .failed where triesOtherEnvironment && outcome.reason == .badDeviceToken:
                misdirected.pushes.append(push)
                misdirected.causes.add(RetryCause(outcome, of: outcomes))
            case .failed: failed.append(push)
            case .pending: pending.append(push)
            case .returned:
                returned.pushes.append(push)
                // A push that was not answered has no cause to name.
                if outcome.verdict == .rejected { returned.causes.add(RetryCause(outcome, of: outcomes)) }
            case .retried where job.attempt >= maxAttempts: failed.append(push)
            case .retried:
                retried.pushes.append(push)
                retried.causes.add(RetryCause(outcome, of: outcomes))
                if let asked = outcome.retryAfter { retried.retryAfter = max(retried.retryAfter ?? 0, asked) }
            }
        }
    }
}
