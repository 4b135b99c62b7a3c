import ApplePush
import CarillonPostgres

extension Flight {
    /// What a flight needs next, with the event that follows.
    indirect enum Step: Sendable {
        /// Ask the database for rows: `claimed` or `claimFailed`.
        case claim(ClaimPlan)
        /// Ask which of these pushes are sent: `decided`, `claimLost` or `failed`.
        case ask(Question, ClaimedJobs, [Int32])
        /// Take a turn at the app's rate, once there is a connection to the gateway: `turnGiven` or `failed`.
        case takeTurn(pushes: Int, by: App.Route?)
        /// `waited`.
        case wait(Duration)
        /// Release the claim: `released` or `failed`.
        case release(ClaimedJobs)
        /// Send the pushes: `delivered`.
        case deliver(ClaimedJobs, by: App.Route)
        /// Wait for the pushes that are pending: `delivered`.
        case awaitRemainder
        /// Write the outcomes, or some of them: `written` or `failed`.
        case write(SettlementWriting)
        /// Write the counts for the breaker: `counted`.
        case writeCounts
        /// Split a row with too many pushes: `wasSplit`.
        case split(Int64)
        case end

        /// The credential that the step uses.
        var credential: Credential? {
            switch self {
            case .takeTurn(_, let route): route?.credential
            case .deliver(_, let route): route.credential
            default: nil
            }
        }
    }

    enum Event: Sendable {
        case claimed(ClaimRows)
        case claimFailed(ClaimFault)
        /// What the question's statement returned.
        case decided(PushDecisions)
        /// Another worker has taken the claim over.
        case claimLost
        /// The wait until the turn begins, or nil if there is no turn soon.
        case turnGiven(Duration?)
        case waited
        case released
        /// If `hasRemainder`, the pushes without an outcome are pending.
        case delivered(Outcomes, hasRemainder: Bool)
        case written(SettleEffect)
        case counted
        /// Nil if the row could not be split.
        case wasSplit(jobs: Int?)
        /// The statement failed.
        case failed(PostgresError)
        /// The worker is stopping, so the step was not done.
        case abandoned

        /// - Parameter decisions: Nil if the claim is lost.
        init(_ decisions: PushDecisions?) { self = decisions.map { .decided($0) } ?? .claimLost }
    }

    /// What is to be counted and logged.
    enum Note: Sendable {
        case claimed(jobs: Int, waits: DurationHistogram)
        /// Updates and background pushes that were not sent, since newer ones exist.
        case superseded(pushes: Int, app: Int32)
        case settled(Settlement, app: Int32)
        case happened(WorkerEvent)
    }
}
