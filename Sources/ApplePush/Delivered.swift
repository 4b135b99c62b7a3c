/// What a delivery returns.
public struct Delivered: Sendable {
    /// The outcome of each push. If there is a rest, those that have not ended are `pending`.
    public let outcomes: Outcomes

    /// What returns the other outcomes, or nil if every push has ended.
    public let rest: Remainder?

    /// How many pushes the gateway takes at a time, in flight or not; nil: unknown. Larger deliveries only wait.
    public let capacity: Int?

    /// The outcomes of a batch, and the rest if some are pending.
    public init(_ outcomes: Outcomes, rest: Remainder? = nil, capacity: Int? = nil) {
        self.outcomes = outcomes
        self.rest = rest
        self.capacity = capacity
    }
}
