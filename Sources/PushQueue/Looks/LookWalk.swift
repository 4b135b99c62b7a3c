/// How far the looks of an awake worker have come. While there is work, each walks over a limited number of lanes and the next one
/// goes on where it ended, so that claims wait for milliseconds however many lanes have rows.
struct LookWalk: Sendable {
    /// Where the next look begins; nil: with the first lane.
    private(set) var end: Lane?
    /// The last walk from the first lane to the last one found work: looks are limited.
    private(set) var foundWork = false
    /// Work was found since the first lane.
    private var findsWork = false

    /// Returns whether the look walked over all lanes. Only then does it show that there is nothing to do.
    mutating func looked(from start: Lane?, to end: Lane?, foundWork: Bool) -> Bool {
        findsWork = start != nil && findsWork || foundWork
        self.end = end
        if end == nil { self.foundWork = findsWork }
        return start == nil && end == nil
    }
}
