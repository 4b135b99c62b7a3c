/// Counts the pushes that were handed to a connection, or are about to be, and whose outcome is not committed.
///
/// They never exceed the limit: it is also the most that a sudden death of this worker can send twice. One app cannot
/// have all of it, so that a gateway which has fallen silent holds up nobody else.
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

    /// What one app may have: all but a quarter.
    private var share: Int { max(1, limit - limit / 4) }

    /// How many more pushes of that app may be claimed now.
    func room(for app: Int32) -> Int {
        min(left, share - byApp[app, default: 0])
    }

    /// Whether any more pushes may be claimed now, of whatever app.
    var hasRoom: Bool { left > 0 }

    /// The most pushes of one app that could ever be claimed at once.
    var most: Int { share }

    func inFlight(of app: Int32) -> Int { byApp[app, default: 0] }

    mutating func admit(_ pushes: Int, of app: Int32) {
        precondition(pushes <= room(for: app), "more pushes than there is room for")
        inFlight += pushes
        byApp[app, default: 0] += pushes
    }

    /// Outcomes were committed, or the claim turned out smaller than planned.
    mutating func release(_ pushes: Int, of app: Int32) {
        guard pushes > 0 else { return }
        let left = byApp[app, default: 0] - pushes
        precondition(left >= 0, "more pushes came back than had gone")
        byApp[app] = left == 0 ? nil : left
        inFlight -= pushes
    }
}
