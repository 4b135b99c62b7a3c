import CarillonIO

/// How much of each app may be claimed: `allowance` asks all that limits it, in order. Counts the pushes that are in flight, or
/// planned to be.
///
/// The limit is also the most pushes that are sent twice when the worker dies. One app cannot use all of it, so a gateway that
/// does not answer does not stop other apps.
struct Admission: Sendable {
    /// While claims hold more bytes than this for each push that may be in flight, no other is made. Most pushes have far fewer.
    private static let bytesPerPush = 3072
    /// At least this many claims may be in flight; with a higher limit, one for each eight pushes. Each takes some 25 KB besides its
    /// bytes, which matters where claims are small, of many apps or lanes.
    private static let usualMostClaims = 1024
    /// When an app that has its share of the claims asks again.
    private static let claimWait = Duration.milliseconds(20)
    /// The size of the claim that shows whether an app can send again.
    private static let probe = 10

    /// Claims that were answered and are not settled yet.
    private struct Held {
        var claims = 0
        var bytes = 0

        mutating func add(_ other: Self) {
            claims += other.claims
            bytes += other.bytes
        }
    }

    let limit: Int
    private(set) var inFlight = 0
    private var byApp: [Int32: Int] = [:]
    private var held = Held()
    private var heldByApp: [Int32: Held] = [:]
    var capacities: Capacities
    var rates = RateLimits()

    init(limit: Int, claimSize: Int) {
        precondition(limit > 0, "the limit of pushes in flight must be positive")
        self.limit = limit
        capacities = Capacities(claimSize: claimSize)
    }

    /// - Parameter ceiling: How many more pushes the workers of this process may have in flight together.
    func allowance(
        of id: Int32,
        within ceiling: Int,
        _ apps: AppDirectory,
        _ holds: AppHolds,
        at now: MonotonicInstant
    ) -> LaneBoard.Allowance {
        // What may be in flight.
        let room = min(ceiling, room(for: id))
        let held = heldByApp[id] ?? Held()
        guard room > 0, held.bytes < maxOfOneApp * Self.bytesPerPush else { return .blocked(until: nil) }
        // As many as are left for others. So some are left, even if the gateways of many apps do not answer.
        guard held.claims < max(1, claimsLeft) else { return .blocked(until: now + Self.claimWait) }
        // The app. Jobs of one that does not exist are claimed too, and end as failures.
        guard let app = apps[id] else { return apps.isUnread(id) ? .blocked(until: nil) : .pushes(room: room) }
        guard !app.row.isPaused, case .success = app.route else { return .blocked(until: nil) }
        // Its hold.
        if let end = holds.endTime(of: id, at: now) { return .blocked(until: end) }
        // What its gateway takes at a time.
        var most = capacities.room(for: id, inFlight: inFlight(of: id))
        guard most > 0 else { return .blocked(until: nil) }
        // Its rate.
        if let rate = app.row.settings.maxRate {
            guard rates.mayClaim(id) else { return .blocked(until: nil) }
            if let end = rates.waitEnd(of: id, at: now) { return .blocked(until: end) }
            most = min(most, rates.turn(of: rate))
        }
        // After a hold, one small claim.
        if holds.isOnProbation(id) {
            guard inFlight(of: id) == 0 else { return .blocked(until: nil) }
            most = min(most, Self.probe)
        }
        return .pushes(room: room, most: most)
    }

    /// A row of the app with more pushes is split: it would block its lane until there is room for all of it.
    /// - Parameter rate: The app's `max_rate`.
    func maxPushes(at rate: Int32?) -> Int {
        let most = min(maxOfOneApp, ClaimPlan.largest)
        return rate.map { min(most, RateLimits.maxPushes(of: $0)) } ?? most
    }

    // MARK: In flight

    var room: Int { held.bytes < limit * Self.bytesPerPush && claimsLeft > 0 ? limit - inFlight : 0 }

    private var claimsLeft: Int { max(Self.usualMostClaims, limit / 8) - held.claims }

    /// Three quarters of the limit.
    var maxOfOneApp: Int { max(1, limit - limit / 4) }

    func room(for app: Int32) -> Int { min(room, maxOfOneApp - inFlight(of: app)) }

    /// A claim of the app was answered.
    mutating func began(_ bytes: Int, of app: Int32) { change(Held(claims: 1, bytes: bytes), of: app) }

    /// It has ended.
    mutating func ended(_ bytes: Int, of app: Int32) { change(Held(claims: -1, bytes: -bytes), of: app) }

    private mutating func change(_ difference: Held, of app: Int32) {
        held.add(difference)
        var ofApp = heldByApp[app] ?? Held()
        ofApp.add(difference)
        heldByApp[app] = ofApp.claims == 0 ? nil : ofApp
    }

    private func inFlight(of app: Int32) -> Int { byApp[app] ?? 0 }

    mutating func admit(_ pushes: Int, of app: Int32) {
        precondition(pushes <= room(for: app), "more pushes than there is room for")
        inFlight += pushes
        byApp[app, default: 0] += pushes
        rates.planned(of: app)
    }

    /// Outcomes were committed, or the claim turned out smaller than planned.
    mutating func release(_ pushes: Int, of app: Int32) {
        guard pushes > 0 else { return }
        let kept = inFlight(of: app) - pushes
        precondition(kept >= 0, "more pushes released than admitted")
        byApp[app] = kept == 0 ? nil : kept
        inFlight -= pushes
    }
}
