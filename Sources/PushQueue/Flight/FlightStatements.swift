import ApplePush
import CarillonIO
import CarillonPostgres

/// The statements of flights but for claims and settlements. Each is a transaction of its own.
enum FlightStatements {
    /// Microseconds until the turn begins; null: no turn begins soon.
    static let takeTurn = Statement("take_rate_turn", "SELECT carillon.take_rate_turn($1, $2)")

    static func parameters(takingTurnFor pushes: Int, of app: Int32) -> Parameters {
        Parameters(app, Int32(clamping: pushes))
    }

    static let discard = Statement("discard", "SELECT carillon.discard_unreadable($1, $2, $3)")

    static let split = Statement("split", "SELECT carillon.split($1, $2, $3, $4)")

    /// - Parameter size: How many tokens each of its jobs gets.
    static func parameters(splitting message: Int64, of lane: Lane, size: Int) -> Parameters {
        Parameters(lane.app, lane.number, message, Int32(size))
    }

    static func parameters(discarding message: Int64, of lane: Lane) -> Parameters {
        Parameters(lane.app, lane.number, message)
    }

    /// Returns `PushDecisions`.
    static let orderUpdates = Statement(
        "order_updates",
        "SELECT v.decisions, v.stamps, v.superseded FROM carillon.order_updates($1, $2, $3, $4, $5, $6) AS v"
    )

    static func parameters(ordering updates: [Int32], of claim: ClaimedJobs, by worker: Int64) -> Parameters {
        Parameters(
            claim.app,
            claim.id,
            worker,
            Moment(claim.claimedAt),
            PostgresArray(claim.jobs(of: updates)),
            tokens(of: updates, in: claim)
        )
    }

    /// Returns `PushDecisions`.
    static let paceDevices = Statement(
        "pace_devices",
        "SELECT v.decisions, v.stamps, v.superseded FROM carillon.pace_devices($1, $2, $3, $4, $5, $6, $7) AS v"
    )

    /// - Parameter max: How many background pushes a device gets in an hour.
    static func parameters(pacing pushes: [Int32], of claim: ClaimedJobs, by worker: Int64, max: Int32) -> Parameters {
        var parameters = parameters(ordering: pushes, of: claim, by: worker)
        parameters.append(max)
        return parameters
    }

    private static func tokens(of positions: [Int32], in claim: ClaimedJobs) -> PostgresArray {
        var tokens = PostgresArray(of: .text)
        for position in positions {
            claim.batch.bytes.withSpan(claim.batch.pushes[Int(position)].token.range) { tokens.append($0) }
        }
        return tokens
    }
}
