/// Counts the pushes that are in flight, or planned to be.
///
/// The limit is also the most pushes that are sent twice when the worker dies. One app cannot use all of it, so a gateway that
/// does not answer does not stop other apps.
struct Admission: Sendable {
    let limit: Int
    private(set) var inFlight = 0
    private var byApp: [Int32: Int] = [:]
    /// How many more the workers of this process may have in flight together.
    var leftByOthers = Int.max

    init(limit: Int) {
        precondition(limit > 0, "the limit of pushes in flight must be positive")
        self.limit = limit
    }

    private var left: Int { min(limit - inFlight, leftByOthers) }

    /// Three quarters of the limit.
    var mostOfOneApp: Int { max(1, limit - limit / 4) }

    var hasRoom: Bool { left > 0 }

    func room(for app: Int32) -> Int { min(left, mostOfOneApp - inFlight(of: app)) }

    func inFlight(of app: Int32) -> Int { byApp[app] ?? 0 }

    mutating func admit(_ pushes: Int, of app: Int32) {
        precondition(pushes <= room(for: app), "more pushes than there is room for")
        inFlight += pushes
        byApp[app, default: 0] += pushes
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
