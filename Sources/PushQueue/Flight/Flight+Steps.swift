import ApplePush
import Postgres

extension Flight {
    /// What a flight needs next. The shell does it, and tells the flight the event named here.
    enum Step: Sendable {
        /// Ask the database for rows: `claimed` or `claimFailed`.
        case claim(ClaimPlan)
        /// Ask for a turn at the app's rate, once there is a connection to the gateway: `turnGiven` or `failed`.
        case takeTurn(pushes: Int, by: App.Route?)
        /// `waited`.
        case wait(Duration)
        /// Put the rows back where they came from: `released` or `failed`.
        case giveBack(ClaimedJobs)
        /// Have the pushes sent: `delivered`.
        case deliver(ClaimedJobs, by: App.Route)
        /// Wait for the pushes that had not ended: `delivered`.
        case awaitRest
        /// Write the outcomes: `written` or `failed`.
        case write(SettlementWrite)
        /// Write the counts of pushes at once: `counted`.
        case countActivity
        /// Cut a row that is too large to be claimed: `cut`.
        case split(Int64)
        /// Nothing: the flight is over.
        case end
    }

    /// What happened to a flight.
    enum Event: Sendable {
        case claimed(ClaimAnswer)
        case claimFailed(wasTooLarge: Bool)
        /// The pushes may go out so much later; nil: not soon.
        case turnGiven(Duration?)
        case waited
        case released
        /// Where a rest is to follow, the pushes that have not ended are pending.
        case delivered(Outcomes, hasRest: Bool)
        case written(SettlementAnswer)
        case counted
        /// Nil: the row could not be cut.
        case cut(parts: Int?)
        /// The statement failed.
        case failed(PostgresError)
        /// The worker waits for nothing any more.
        case abandoned
    }

    /// What is to be counted and told.
    enum News: Sendable {
        /// How many jobs a claim brought, and how long each had waited.
        case claimed(jobs: Int, waits: DurationHistogram)
        case settled(Settlement, app: Int32)
        case happened(WorkerEvent)
    }
}
