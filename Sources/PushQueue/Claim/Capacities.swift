/// How much each app's gateway takes at a time, as far as is known: what is claimed far beyond that only waits for
/// streams, where no other worker can have it.
struct Capacities: Sendable {
    /// So many pushes for each that the gateway takes: some are on their way to it, some on their way back to the
    /// database, and some must wait, or nobody would see that another connection is needed.
    private static let depth = 8

    private var byApp: [Int32: Int] = [:]

    /// A delivery returned with what is known now.
    mutating func learned(_ capacity: Int?, of app: Int32) { self.byApp[app] = capacity }

    /// How many more pushes may be claimed for that app.
    func room(for app: Int32, inFlight: Int) -> Int {
        self.byApp[app].map { max(1, $0 * Self.depth) - inFlight } ?? .max
    }
}
