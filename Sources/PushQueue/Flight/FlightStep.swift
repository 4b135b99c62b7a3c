/// What a flight needs next. Whoever does it tells the flight how it went.
enum FlightStep: Sendable {
    /// Ask the database for rows. Then: `claimed` or `claimFailed`.
    case claim(ClaimPlan)
    /// Ask for a turn at the app's rate, for so many pushes; with a connection to the gateway made first. Then:
    /// `turnGiven`.
    case takeTurn(pushes: Int, by: App.Route?)
    /// Then: `waited`.
    case wait(Duration)
    /// Put the rows back where they came from. Then: `released`.
    case giveBack(ClaimedJobs)
    /// Have the pushes sent. Then: `delivered`.
    case deliver(ClaimedJobs, by: App.Route)
    /// Wait for the pushes that had not ended. Then: `delivered`.
    case awaitRest
    /// Write what became of them. Then: `written`.
    case write(SettlementWrite)
    /// Write the counts of pushes, at once. Then: `counted`.
    case countActivity
    /// Cut a row that is too large to be claimed as it is. Then: `cut`.
    case split(Int64)
    /// Nothing: it is over.
    case end
}
