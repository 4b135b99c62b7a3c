import IO

/// What each app may claim at the moment: its row, its troubles, its rate and the room that is left decide.
struct AppLimits: Sendable {
    /// The pushes with which an app that was in trouble tries again.
    private static let trial = 10
    /// A row with more pushes is cut.
    private static let largest = 1000

    var apps = AppDirectory()
    var admission: Admission
    var holds = AppHolds()
    var rates = RateLimits()
    var expiry = ExpiryWatch()
    var capacities: Capacities
    /// How many take turns at an app's rate.
    var workersAlive = 1

    init(maxInFlight: Int, claimSize: Int) {
        capacities = Capacities(claimSize: claimSize)
        admission = Admission(limit: maxInFlight)
    }

    mutating func allowance(of id: Int32, at now: MonotonicInstant) -> LaneBoard.Allowance {
        let room = admission.room(for: id)
        guard room > 0 else { return .blocked(until: nil) }
        switch apps[id] {
        case .unread: return .blocked(until: nil)
        case .absent: return .pushes(room: room)
        case .known(let app):
            guard !app.isPaused, case .success = app.route else { return .blocked(until: nil) }
            if let end = holds.end(of: id, at: now) { return .blocked(until: end) }
            var most = capacities.room(for: id, inFlight: admission.inFlight(of: id))
            guard most > 0 else { return .blocked(until: nil) }
            if let rate = app.mostRate {
                guard rates.mayClaim(id) else { return .blocked(until: nil) }
                if let end = rates.restEnd(of: id, at: now) { return .blocked(until: end) }
                most = min(most, RateLimits.turn(of: rate, workers: workersAlive))
            }
            if holds.isOnTrial(id) {
                guard admission.inFlight(of: id) == 0 else { return .blocked(until: nil) }
                most = min(most, Self.trial)
            }
            return .pushes(room: room, most: most)
        }
    }

    /// Whether the lane's rows are for now, as far as anybody can tell.
    func isClaimable(_ lane: Lane) -> Bool {
        switch apps[lane.app] {
        case .unread, .absent: return true
        case .known(let app):
            guard case .success = app.route else { return false }
            return !app.isPaused && !holds.isOnTrial(lane.app)
        }
    }

    /// Whether the app's pushes wait for their turn.
    func isPaced(_ id: Int32) -> Bool {
        if case .known(let app) = apps[id] { app.mostRate != nil } else { false }
    }

    /// The most pushes that a row of the app may have and be sent at once. Without a rate a large one would wait, and all
    /// behind it, until so much is free at once.
    func mostPushes(of id: Int32) -> Int {
        let most = min(admission.most, Self.largest)
        guard case .known(let app) = apps[id], let rate = app.mostRate else { return most }
        return min(most, RateLimits.mostPushes(of: rate))
    }

    mutating func planned(_ pushes: Int, of app: Int32) {
        admission.admit(pushes, of: app)
        rates.planned(of: app)
    }

    /// What was set aside for a claim and is not needed.
    mutating func unclaimed(_ pushes: Int, of app: Int32) { admission.release(pushes, of: app) }
}
