/// How many pushes each app's gateway takes at a time. Pushes claimed far beyond that only wait, and no other worker can
/// claim them.
struct Capacities: Sendable {
    /// Pushes in flight for each stream: some are being sent, some are being settled, and some must wait, or no further
    /// connection would be opened.
    private static let depth = 8

    let claimSize: Int
    private var byApp: [Int32: Int] = [:]

    init(claimSize: Int) { self.claimSize = claimSize }

    /// - Parameter capacity: Nil if it is unknown.
    mutating func learned(_ capacity: Int?, of app: Int32) { byApp[app] = capacity }

    /// How many more pushes may be claimed. If several claims fit, the last is not made smaller: a small claim costs as much as
    /// a large one.
    func room(for app: Int32, inFlight: Int) -> Int {
        guard let capacity = byApp[app] else { return .max }
        let most = max(1, capacity * Self.depth)
        let room = most - inFlight
        return room > 0 && most >= 2 * claimSize ? max(room, claimSize) : room
    }
}
