/// How many streams each app's gateway allows, as far as is known. What is claimed far beyond that only waits, and no other
/// worker can have it.
struct Capacities: Sendable {
    /// Pushes in flight for each stream: some are on their way to the gateway, some on their way back to the database, and
    /// some must wait, which is what shows that another connection is needed.
    private static let depth = 8

    let claimSize: Int
    private var byApp: [Int32: Int] = [:]

    init(claimSize: Int) {
        self.claimSize = claimSize
    }

    /// - Parameter capacity: As a delivery has shown it; nil: unknown.
    mutating func learned(_ capacity: Int?, of app: Int32) { byApp[app] = capacity }

    /// How many more pushes may be claimed. Where several claims fit, the last is a whole one too, since a small one costs as
    /// much as a large one.
    func room(for app: Int32, inFlight: Int) -> Int {
        guard let capacity = byApp[app] else { return .max }
        let most = max(1, capacity * Self.depth)
        let room = most - inFlight
        return room > 0 && most >= 2 * claimSize ? max(room, claimSize) : room
    }
}
