import CarillonIO

/// How much of each app may be claimed: `allowance` asks all that limits it, in order. Counts the pushes that are in flight, or
/// planned to be.
///
/// The limit is also the most pushes that are sent twice when the worker dies. One app cannot use all of it, so a gateway that
/// does not answer does not stop other apps.
struct Admission: Sendable {
    /// While claims have more bytes than this for each push that may be in flight, no other is made. Most pushes have far fewer.
    private static let bytesPerPush = 3072
    /// At least this many claims may be in flight; with a higher limit, one for each eight pushes. Each takes some 25 KB besides its
    /// bytes, which matters where claims are small, of many apps or lanes.
    private static let usualMaxClaims = 1024
    /// After this, at the earliest, an app that has its share of the claims asks again.
    private static let claimWait = Duration.milliseconds(20)
    /// The size of the claim that shows whether an app can send again.
    private static let probe = 10

    /// What is in flight, or planned to be.
    private struct Load {
        var pushes = 0
        var claims = 0
        /// Of claims that have returned.
        var bytes = 0

        var isNone: Bool { pushes == 0 && claims == 0 && bytes == 0 }

        mutating func add(_ other: Self) {
            pushes += other.pushes
            claims += other.claims
            bytes += other.bytes
        }
    }

    let limit: Int
    private var total = Load()
    private var byApp: [Int32: Load] = [:]
    var capacities: Capacities
    var rates = RateLimits()

    init(limit: Int, claimSize: Int) {
        precondition(limit > 0, "the limit of pushes in flight must be positive")
        self.limit = limit
        capacities = Capacities(claimSize: claimSize)
    }

    func allowance(
        of id: Int32,
        within ceiling: Int,
        _ apps: AppDirectory,
        _ holds: AppHolds,
        at now: MonotonicInstant
    ) -> LaneBoard.Allowance {
        // What may be in flight.
        let room = min(ceiling, room(for: id))
        let load = load(of: id)
        guard room > 0, load.bytes < maxOfOneApp * Self.bytesPerPush else { return .blocked(until: nil) }
        guard !apps.isUnread(id) else { return .blocked(until: nil) }
        let app = apps[id]
        if let app {
            guard !app.row.isPaused, case .success = app.route else { return .blocked(until: nil) }
            if let end = holds.endTime(of: id, at: now) { return .blocked(until: end) }
        }
        // As many claims as are left for others. So some are left, even if the gateways of ten apps do not answer.
        guard load.claims < claimsLeft else { return .blocked(until: now + Self.claimWait) }
        // Jobs of an app that does not exist are claimed too, and end as failures.
        guard let app else { return .pushes(room: room) }
        // What its gateway takes at a time.
        var most = capacities.room(for: id, inFlight: load.pushes)
        guard most > 0 else { return .blocked(until: nil) }
        // Its rate.
        if let rate = app.row.settings.maxRate {
            guard rates.mayClaim(id) else { return .blocked(until: nil) }
            if let end = rates.waitEnd(of: id, at: now) { return .blocked(until: end) }
            most = min(most, rates.turn(of: rate))
        }
        // After a hold, one small claim.
        if holds.isOnProbation(id) {
            guard load.pushes == 0 else { return .blocked(until: nil) }
            most = min(most, Self.probe)
        }
        return .pushes(room: room, max: most)
    }

    /// A row of the app with more pushes is split: it would block its lane until there is room for all of it.
    /// - Parameter rate: The app's `max_rate`.
    func maxPushes(at rate: Int32?) -> Int {
        let most = min(maxOfOneApp, ClaimPlan.largest)
        return rate.map { min(most, RateLimits.maxPushes(of: $0)) } ?? most
    }

    // MARK: In flight

    var inFlight: Int { total.pushes }

    var room: Int { total.bytes < limit * Self.bytesPerPush && claimsLeft > 0 ? limit - inFlight : 0 }

    private var claimsLeft: Int { max(Self.usualMaxClaims, limit / 8) - total.claims }

    /// Three quarters of the limit.
    var maxOfOneApp: Int { max(1, limit - limit / 4) }

    func room(for app: Int32) -> Int { min(room, maxOfOneApp - load(of: app).pushes) }

    private func load(of app: Int32) -> Load { byApp[app] ?? Load() }

    private mutating func add(_ difference: Load, of app: Int32) {
        total.add(difference)
        var load = load(of: app)
        load.add(difference)
        byApp[app] = load.isNone ? nil : load
    }

    /// A claim was planned.
    mutating func admit(_ pushes: Int, of app: Int32) {
        precondition(pushes <= room(for: app), "more pushes than there is room for")
        add(Load(pushes: pushes, claims: 1), of: app)
        rates.planned(of: app)
    }

    /// It returned jobs of so many bytes.
    mutating func claimReturned(_ bytes: Int, of app: Int32) { add(Load(bytes: bytes), of: app) }

    /// It has ended, perhaps without having returned jobs.
    mutating func ended(_ bytes: Int = 0, of app: Int32) { add(Load(claims: -1, bytes: -bytes), of: app) }

    /// Outcomes were committed, or the claim turned out smaller than planned.
    mutating func release(_ pushes: Int, of app: Int32) {
        guard pushes > 0 else { return }
        precondition(pushes <= load(of: app).pushes, "more pushes released than admitted")
        add(Load(pushes: -pushes), of: app)
    }
}
