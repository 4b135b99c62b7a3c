/// Counts the pushes that are claimed, or about to be, and not settled.
///
/// The limit is also the most that a sudden death of this worker can send twice. One app cannot take all of it, so that a
/// silent gateway does not stop the others.
struct Admission: Sendable {
    let limit: Int
    private(set) var inFlight = 0
    private var byApp: [Int32: Int] = [:]
    /// How many more the other workers of this process leave room for now.
    var leftByOthers = Int.max

    init(limit: Int) {
        precondition(limit > 0, "a worker that may send nothing at once sends nothing")
        self.limit = limit
    }

    private var left: Int { min(limit - inFlight, leftByOthers) }

    /// The most pushes of one app: all but a quarter.
    var most: Int { max(1, limit - limit / 4) }

    var hasRoom: Bool { left > 0 }

    /// How many more pushes of that app may be claimed now.
    func room(for app: Int32) -> Int { min(left, most - inFlight(of: app)) }

    func inFlight(of app: Int32) -> Int { byApp[app] ?? 0 }

    mutating func admit(_ pushes: Int, of app: Int32) {
        precondition(pushes <= room(for: app), "more pushes than there is room for")
        inFlight += pushes
        byApp[app, default: 0] += pushes
    }

    /// Outcomes were committed, or the claim turned out smaller than planned.
    mutating func release(_ pushes: Int, of app: Int32) {
        guard pushes > 0 else { return }
        let left = inFlight(of: app) - pushes
        precondition(left >= 0, "more pushes came back than had gone")
        byApp[app] = left == 0 ? nil : left
        inFlight -= pushes
    }
}
