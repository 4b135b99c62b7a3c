import ApplePush
import CarillonPostgres

extension Flight {
    /// What a flight needs next, with the event that follows.
    enum Step: Sendable {
        /// Ask the database for rows: `claimed` or `claimFailed`.
        case claim(ClaimPlan)
        /// Ask which updates of Live Activities are sent, and with which times: `ordered` or `failed`.
        case order(ClaimedJobs, [Int32])
        /// Ask which background pushes are sent now, given the hourly limit of a device: `paced` or `failed`.
        case pace(ClaimedJobs, [Int32], most: Int32)
        /// Take a turn at the app's rate, once there is a connection to the gateway: `turnGiven` or `failed`.
        case takeTurn(pushes: Int, by: App.Route?)
        /// `waited`.
        case wait(Duration)
        /// Release the claim: `released` or `failed`.
        case release(ClaimedJobs)
        /// Send the pushes: `delivered`.
        case deliver(ClaimedJobs, by: App.Route)
        /// Wait for the pushes that are pending: `delivered`.
        case awaitRest
        /// Write the outcomes: `written` or `failed`.
        case write(SettlementWrite)
        /// Write the counts for the breaker: `counted`.
        case countActivity
        /// Split a row with too many pushes: `wasSplit`.
        case split(Int64)
        case end
    }

    enum Event: Sendable {
        case claimed(ClaimRows)
        case claimFailed(wasTooLarge: Bool)
        /// The time of each update; nil: the push has ended, since a newer one exists. No list: the claim is lost.
        case ordered([Int64?]?)
        /// What `WorkerStatements.paceDevices` answers. No list: the claim is lost.
        case paced([Int64?]?)
        /// The wait until the turn begins; nil: there is no turn soon.
        case turnGiven(Duration?)
        case waited
        case released
        /// If `hasRest`, the pushes without an outcome are pending.
        case delivered(Outcomes, hasRest: Bool)
        case written(SettlementEffect)
        case counted
        /// Nil: the row could not be split.
        case wasSplit(jobs: Int?)
        /// The statement failed.
        case failed(PostgresError)
        /// The worker is stopping, so the step was not done.
        case abandoned
    }

    /// What is to be counted and logged.
    enum News: Sendable {
        case claimed(jobs: Int, waits: DurationHistogram)
        /// Updates and background pushes that were not sent, since newer ones exist.
        case superseded(pushes: Int, app: Int32)
        case settled(Settlement, app: Int32)
        case happened(WorkerEvent)
    }
}
