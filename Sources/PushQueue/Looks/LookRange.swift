/// What a look walks over, in the order of the index.
struct LookRange: Sendable {
    /// The walk begins after this lane, or with the first one.
    var start: Lane?
    /// Known lanes that the walk skips. They are looked up from their floors instead.
    var known: [(lane: Lane, id: Int64)] = []
    /// The walk ends with the last known lane, not with the last lane of all.
    var endsAtKnown = false
    /// Known lanes elsewhere that are looked up too.
    var others: [(lane: Lane, id: Int64)] = []
    /// How many lanes it walks over at most. Nil: all.
    var maxSteps: Int?
}
