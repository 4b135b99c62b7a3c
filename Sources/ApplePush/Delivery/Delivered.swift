/// The result of a delivery.
public struct Delivered: Sendable {
    /// The outcome of each push. If there is a remainder, pushes that have not ended are `pending`.
    public let outcomes: Outcomes

    /// Returns the pending outcomes later; nil if every push has ended.
    public let remainder: Remainder?

    /// How many pushes the gateway accepts at a time; nil if unknown. What exceeds it in a larger delivery only waits.
    public let capacity: Int?

    /// The outcomes of a batch, and the remainder if some are pending.
    public init(_ outcomes: Outcomes, remainder: Remainder? = nil, capacity: Int? = nil) {
        self.outcomes = outcomes
        self.remainder = remainder
        self.capacity = capacity
    }
}
