/// How far the looks of an awake worker have come. Each walks over a limited number of lanes and the next one goes on where it
/// ended, so that claims wait for milliseconds however many lanes have rows.
struct LookWalk: Sendable {
    /// Where the next look begins; nil: with the first lane.
    private(set) var end: Lane?
    /// False once limited looks have found nothing from the first lane to the last and none was whole, until there is work again:
    /// only a whole one shows that there is nothing to do.
    private(set) var isLimited = true
    /// Work was found since the first lane.
    private var findsWork = false
    private var wasWhole = true
    private var looks = 0

    /// Numbers the looks that may leave lanes out.
    var turn: Int? { wasWhole ? nil : looks }

    /// Returns whether the look walked over all lanes. Only then does it show that there is nothing to do.
    mutating func looked(from start: Lane?, to end: Lane?, foundWork: Bool) -> Bool {
        looks += 1
        findsWork = start != nil && findsWork || foundWork
        self.end = end
        wasWhole = start == nil && end == nil
        if end == nil { isLimited = findsWork || isLimited && wasWhole }
        return wasWhole
    }
}
