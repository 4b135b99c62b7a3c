/// What a delivery returns with.
public struct Delivered: Sendable {
    /// What became of each push. Where a rest is to follow, the pushes that have not ended are `pending`.
    public let outcomes: Outcomes

    /// What follows for those, or nil if every push has ended.
    public let rest: Remainder?

    /// How many pushes the gateway takes at a time now, in flight or not; nil where nobody knows. Handing over many more
    /// than that only makes them wait.
    public let capacity: Int?

    /// What became of a batch, or of a part of it and a rest to follow.
    public init(_ outcomes: Outcomes, rest: Remainder? = nil, capacity: Int? = nil) {
        self.outcomes = outcomes
        self.rest = rest
        self.capacity = capacity
    }
}
