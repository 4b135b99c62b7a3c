/// The result of a delivery.
public struct Delivered: Sendable {
    /// The outcome of each push. If there is a rest, pushes that have not ended are `pending`.
    public let outcomes: Outcomes

    /// Returns the pending outcomes later; nil if every push has ended.
    public let rest: Remainder?

    /// How many pushes the gateway accepts at a time; nil if unknown. The rest of a larger delivery only waits.
    public let capacity: Int?

    /// The outcomes of a batch, and the rest if some are pending.
    public init(_ outcomes: Outcomes, rest: Remainder? = nil, capacity: Int? = nil) {
        self.outcomes = outcomes
        self.rest = rest
        self.capacity = capacity
    }
}
