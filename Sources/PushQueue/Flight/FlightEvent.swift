import ApplePush
import Postgres

/// What happened to a flight.
enum FlightEvent: Sendable {
    case claimed(ClaimAnswer)
    /// The claim was not made.
    case claimFailed(wasTooLarge: Bool)
    /// The pushes may go out so much later; nil: not soon.
    case turnGiven(Duration?)
    case waited
    /// The rows are where they came from.
    case released
    /// What became of the pushes. Where a rest is to follow, those that have not ended are pending.
    case delivered(Outcomes, hasRest: Bool)
    case written(SettlementAnswer)
    case counted
    /// A row is cut into so many parts; nil: it could not be.
    case cut(parts: Int?)
    /// A statement that is to be tried again failed.
    case failed(PostgresError)
    /// The worker waits for nothing any more.
    case abandoned
}
