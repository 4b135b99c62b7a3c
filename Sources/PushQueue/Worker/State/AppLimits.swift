import IO

/// What each app may claim at the moment: its row, its troubles, its rate and the room that is left decide.
struct AppLimits: Sendable {
    /// The pushes with which an app that was in trouble tries again.
    private static let trial = 10

    var apps = AppDirectory()
    var admission: Admission
    var holds = AppHolds()
    var rates = RateLimits()
    var expiry = ExpiryWatch()
    var capacities = Capacities()
    /// How many share each app's rate.
    var workersAlive = 1

    init(maxInFlight: Int) {
        self.admission = Admission(limit: maxInFlight)
    }

    mutating func allowance(of id: Int32, at now: MonotonicInstant) -> LaneBoard.Allowance {
        let room = self.admission.room(for: id)
        guard room > 0 else { return .blocked(until: nil) }
        switch self.apps[id] {
        case .unread: return .blocked(until: nil)
        case .absent: return .pushes(room: room)
        case .known(let app):
            guard !app.isPaused, case .success = app.route else { return .blocked(until: nil) }
            if let end = self.holds.end(of: id, at: now) { return .blocked(until: end) }
            var most = self.capacities.room(for: id, inFlight: self.admission.inFlight(of: id))
            guard most > 0 else { return .blocked(until: nil) }
            if let rate = app.mostRate {
                most = min(most, self.rates.available(to: id, rate: rate, workers: self.workersAlive, at: now))
                guard most > 0 else {
                    let refill = self.rates.refill(of: id, rate: rate, workers: self.workersAlive, at: now)
                    return .blocked(until: refill)
                }
            }
            if self.holds.isOnTrial(id) {
                guard self.admission.inFlight(of: id) == 0 else { return .blocked(until: nil) }
                most = min(most, Self.trial)
            }
            return .pushes(room: room, most: most)
        }
    }

    /// Whether the lane's rows are for now, as far as anybody can tell.
    func isClaimable(_ lane: Lane) -> Bool {
        switch self.apps[lane.app] {
        case .unread, .absent: return true
        case .known(let app):
            guard case .success = app.route else { return false }
            return !app.isPaused && !self.holds.isOnTrial(lane.app)
        }
    }

    mutating func planned(_ pushes: Int, of app: Int32) {
        self.admission.admit(pushes, of: app)
        self.rates.spend(pushes, of: app)
    }

    /// What was set aside for a claim and is not needed.
    mutating func unclaimed(_ pushes: Int, of app: Int32) {
        self.admission.release(pushes, of: app)
        self.rates.spend(-pushes, of: app)
    }
}
