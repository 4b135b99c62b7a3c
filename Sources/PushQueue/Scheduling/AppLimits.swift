import CarillonIO

/// How much of each app may be claimed now, by its row, its hold, its rate and the room that is left.
struct AppLimits: Sendable {
    /// The size of the claim that shows whether an app can send again.
    private static let probe = 10
    /// A row with more pushes is split.
    private static let largest = 1000

    var apps: AppDirectory
    var admission: Admission
    var holds = AppHolds()
    var rates = RateLimits()
    var expiry = ExpiryWatch()
    var capacities: Capacities
    /// The live workers share the rate of an app.
    var workersAlive = 1

    init(maxInFlight: Int, claimSize: Int, apps: AppDirectory) {
        self.apps = apps
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
            guard !app.row.isPaused, case .success = app.route else { return .blocked(until: nil) }
            if let end = holds.endTime(of: id, at: now) { return .blocked(until: end) }
            var most = capacities.room(for: id, inFlight: admission.inFlight(of: id))
            guard most > 0 else { return .blocked(until: nil) }
            if let rate = app.row.settings.maxRate {
                guard rates.mayClaim(id) else { return .blocked(until: nil) }
                if let end = rates.restEnd(of: id, at: now) { return .blocked(until: end) }
                most = min(most, RateLimits.turn(of: rate, workers: workersAlive))
            }
            if holds.isHeld(id) {
                guard admission.inFlight(of: id) == 0 else { return .blocked(until: nil) }
                most = min(most, Self.probe)
            }
            return .pushes(room: room, most: most)
        }
    }

    /// Whether the lane's rows can be claimed soon.
    func isClaimable(_ lane: Lane) -> Bool {
        switch apps[lane.app] {
        case .unread, .absent: return true
        case .known(let app):
            guard case .success = app.route else { return false }
            return !app.row.isPaused && !holds.isHeld(lane.app)
        }
    }

    /// Whether the app has a `max_rate`.
    func hasRate(_ id: Int32) -> Bool {
        if case .known(let app) = apps[id] { app.row.settings.maxRate != nil } else { false }
    }

    /// How many background pushes a device gets in an hour; nil: there is no limit.
    func mostPerDevice(of id: Int32) -> Int32? {
        if case .known(let app) = apps[id] { app.row.settings.maxPerDevice } else { nil }
    }

    /// A row of the app with more pushes is split: it would block its lane until there is room for all of it.
    func mostPushes(of id: Int32) -> Int {
        let most = min(admission.mostOfOneApp, Self.largest)
        guard case .known(let app) = apps[id], let rate = app.row.settings.maxRate else { return most }
        return min(most, RateLimits.mostPushes(of: rate))
    }

    mutating func planned(_ pushes: Int, of app: Int32) {
        admission.admit(pushes, of: app)
        rates.planned(of: app)
    }
}
