import IO

/// How the pushes of apps with a `max_rate` are claimed: in small turns, each of which waits for its time on the fleet's
/// timetable, `carillon.take_turn`. A worker has two claims of such an app waiting, so that one is claimed while the other
/// waits, and no more, so that all workers get turns soon.
struct RateLimits: Sendable {
    /// When the pushes of one claim may go out.
    struct Turn: Sendable {
        /// Half of the longest turn. Pushes that go out later would add to those that are on time.
        private static let latest = Duration.milliseconds(50)

        let begins: MonotonicInstant

        /// Another turn has to be taken.
        func isMissed(at now: MonotonicInstant) -> Bool { now - begins > Self.latest }
    }

    /// Claims of an app that may wait for their turn.
    private static let most = 2
    /// How many seconds the turns of all workers together take at most.
    private static let round = 0.2
    /// How many seconds one turn takes.
    private static let turn = 0.02...0.1

    private var waiting: [Int32: Int] = [:]
    private var rests: [Int32: MonotonicInstant] = [:]

    /// How many pushes one turn has.
    static func turn(of rate: Int32, workers: Int) -> Int {
        let seconds = min(max(Self.round / Double(max(1, workers)), Self.turn.lowerBound), Self.turn.upperBound)
        return max(1, Int(Double(rate) * seconds))
    }

    /// The most pushes that a row may have to be sent in one turn.
    static func mostPushes(of rate: Int32) -> Int { max(1, Int(rate) / 10) }

    func mayClaim(_ app: Int32) -> Bool { waiting[app, default: 0] < Self.most }

    /// Until when the app may not claim, since the timetable is full.
    func restEnd(of app: Int32, at now: MonotonicInstant) -> MonotonicInstant? {
        guard let end = rests[app], now < end else { return nil }
        return end
    }

    mutating func planned(of app: Int32) { waiting[app, default: 0] += 1 }

    /// A claim brought nothing, goes back, or has had its turn.
    mutating func departed(of app: Int32) {
        let left = waiting[app, default: 0] - 1
        precondition(left >= 0, "more claims departed than were planned")
        waiting[app] = left == 0 ? nil : left
    }

    /// The timetable is full.
    mutating func rest(_ app: Int32, until end: MonotonicInstant) { rests[app] = end }
}
