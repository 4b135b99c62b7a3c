import CarillonIO

/// How apps with a `max_rate` are claimed: in small turns, which `carillon.take_rate_turn` spaces out for the fleet. Two
/// claims of an app may wait in a worker, so that one is claimed while the other waits; more would keep turns from other
/// workers.
struct RateLimits: Sendable {
    /// When the pushes of one claim may go out.
    struct Turn: Sendable {
        /// Half of the longest turn. Pushes sent later would add to those of the next turn.
        private static let latest = Duration.milliseconds(50)

        let begins: MonotonicInstant

        func isMissed(at now: MonotonicInstant) -> Bool { now - begins > Self.latest }
    }

    /// Claims of an app that may wait for their turn.
    private static let maxWaiting = 2
    /// The seconds in which each worker has one turn.
    private static let period = 0.2
    /// The seconds of one turn.
    private static let turn = 0.02...0.1

    /// The live workers share the rate of an app.
    var workersAlive = 1
    private var waiting: [Int32: Int] = [:]
    /// When the next turns of apps may begin, if not now.
    private var waits: [Int32: MonotonicInstant] = [:]

    /// The pushes of one turn.
    func turn(of rate: Int32) -> Int {
        let seconds = min(max(Self.period / Double(max(1, workersAlive)), Self.turn.lowerBound), Self.turn.upperBound)
        return max(1, Int(Double(rate) * seconds))
    }

    /// The most pushes that a row may have to be sent in one turn.
    static func maxPushes(of rate: Int32) -> Int { max(1, Int(rate) / 10) }

    func mayClaim(_ app: Int32) -> Bool { waiting[app, default: 0] < Self.maxWaiting }

    /// When there may be a turn again, if not now.
    func waitEnd(of app: Int32, at now: MonotonicInstant) -> MonotonicInstant? {
        guard let end = waits[app], now < end else { return nil }
        return end
    }

    mutating func planned(of app: Int32) { waiting[app, default: 0] += 1 }

    /// A claim had no rows, goes back, or has had its turn.
    mutating func stoppedWaiting(of app: Int32) {
        let left = waiting[app, default: 0] - 1
        precondition(left >= 0, "more claims stopped waiting than were planned")
        waiting[app] = left == 0 ? nil : left
    }

    /// There is no turn soon.
    mutating func wait(_ app: Int32, until end: MonotonicInstant) { waits[app] = end }
}
