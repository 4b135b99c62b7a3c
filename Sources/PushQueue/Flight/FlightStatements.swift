import CarillonPostgres

/// The statements of flights but for claims and settlements. Each is a transaction of its own.
enum FlightStatements {
    /// Microseconds until the turn begins; null: no turn begins soon.
    static let takeTurn = Statement("take_rate_turn", "SELECT carillon.take_rate_turn($1, $2)")

    static func parameters(takingTurnFor pushes: Int, of app: Int32) -> Parameters {
        Parameters(app, Int32(clamping: pushes))
    }

    static let discard = Statement("discard", "SELECT carillon.discard($1, $2, $3)")

    static let split = Statement("split", "SELECT carillon.split($1, $2, $3, $4)")

    /// - Parameter size: How many tokens each of its jobs gets.
    static func parameters(splitting message: Int64, of lane: Lane, size: Int) -> Parameters {
        Parameters(lane.app, lane.number, message, Int32(size))
    }

    static func parameters(discarding message: Int64, of lane: Lane) -> Parameters {
        Parameters(lane.app, lane.number, message)
    }
}
