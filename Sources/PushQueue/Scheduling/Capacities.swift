/// How much each app's gateway takes at a time, as far as is known: what is claimed far beyond that only waits for
/// streams, where no other worker can have it.
struct Capacities: Sendable {
    /// So many pushes for each that the gateway takes: some are on their way to it, some on their way back to the
    /// database, and some must wait, or nobody would see that another connection is needed.
    private static let depth = 8

    /// How many pushes a claim takes.
    let claimSize: Int
    private var byApp: [Int32: Int] = [:]

    init(claimSize: Int) {
        self.claimSize = claimSize
    }

    /// A delivery returned with what is known now.
    mutating func learned(_ capacity: Int?, of app: Int32) { byApp[app] = capacity }

    /// How many more pushes may be claimed for that app. Where several claims fit, the last is a whole one too: a small one
    /// costs the database, and the way through the worker, as much as a large one.
    func room(for app: Int32, inFlight: Int) -> Int {
        guard let capacity = byApp[app] else { return .max }
        let most = max(1, capacity * Self.depth)
        let room = most - inFlight
        return room > 0 && most >= 2 * claimSize ? max(room, claimSize) : room
    }
}
