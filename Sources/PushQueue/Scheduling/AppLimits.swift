import CarillonIO

/// How much of each app may be claimed now, by its row, its hold, its rate and the room that is left.
struct AppLimits: Sendable {
    /// The size of the claim that shows whether an app can send again.
    private static let probe = 10
    /// A row with more pushes is split.
    private static let largest = 1000

    var admission: Admission
    var rates = RateLimits()
    var capacities: Capacities
    /// The live workers share the rate of an app.
    var workersAlive = 1

    init(maxInFlight: Int, claimSize: Int) {
        capacities = Capacities(claimSize: claimSize)
        admission = Admission(limit: maxInFlight)
    }

    func allowance(
        of id: Int32,
        _ apps: AppDirectory,
        _ holds: AppHolds,
        at now: MonotonicInstant
    ) -> LaneBoard.Allowance {
        let room = admission.room(for: id)
        guard room > 0 else { return .blocked(until: nil) }
        guard let app = apps[id] else { return apps.isUnread(id) ? .blocked(until: nil) : .pushes(room: room) }
        guard !app.row.isPaused, case .success = app.route else { return .blocked(until: nil) }
        if let end = holds.endTime(of: id, at: now) { return .blocked(until: end) }
        var most = capacities.room(for: id, inFlight: admission.inFlight(of: id))
        guard most > 0 else { return .blocked(until: nil) }
        if let rate = app.row.settings.maxRate {
            guard rates.mayClaim(id) else { return .blocked(until: nil) }
            if let end = rates.waitEnd(of: id, at: now) { return .blocked(until: end) }
            most = min(most, RateLimits.turn(of: rate, workers: workersAlive))
        }
        if holds.isHeld(id) {
            guard admission.inFlight(of: id) == 0 else { return .blocked(until: nil) }
            most = min(most, Self.probe)
        }
        return .pushes(room: room, most: most)
    }

    /// A row of the app with more pushes is split: it would block its lane until there is room for all of it.
    /// - Parameter rate: The app's `max_rate`.
    func mostPushes(at rate: Int32?) -> Int {
        let most = min(admission.mostOfOneApp, Self.largest)
        return rate.map { min(most, RateLimits.mostPushes(of: $0)) } ?? most
    }

    mutating func planned(_ pushes: Int, of app: Int32) {
        admission.admit(pushes, of: app)
        rates.planned(of: app)
    }
}
