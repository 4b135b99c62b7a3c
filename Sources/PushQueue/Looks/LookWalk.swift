import CarillonIO

/// How far the looks of an awake worker have come. While there is work, each walks over a limited number of lanes and the next one
/// goes on where it ended, so that claims wait for milliseconds however many lanes have rows.
struct LookWalk: Sendable {
    /// Looks are limited for so long after work was found: many lanes may have rows at any moment.
    private static let memory = Duration.seconds(1)

    /// Where the next look begins; nil: with the first lane.
    private(set) var end: Lane?
    /// The last walk from the first lane to the last one found work.
    private var foundWork = false
    /// Work was found since the first lane.
    private var findsWork = false
    private var foundAt: MonotonicInstant?
    private var wasWhole = true
    private var looks = 0

    /// Numbers the looks that may leave lanes out.
    var turn: Int? { wasWhole ? nil : looks }

    func isLimited(at now: MonotonicInstant) -> Bool {
        if foundWork || end != nil && findsWork { return true }
        // Where limited looks find nothing and are not whole, a whole one has to show that there is nothing to do.
        return wasWhole && foundAt.map { now - $0 < Self.memory } ?? false
    }

    /// Returns whether the look walked over all lanes. Only then does it show that there is nothing to do.
    mutating func looked(from start: Lane?, to end: Lane?, foundWork: Bool, at now: MonotonicInstant) -> Bool {
        looks += 1
        if foundWork { foundAt = now }
        findsWork = start != nil && findsWork || foundWork
        self.end = end
        if end == nil { self.foundWork = findsWork }
        wasWhole = start == nil && end == nil
        return wasWhole
    }
}
