/// What the simulator makes of one request.
enum Verdict: Sendable {
    case accepted
    case refused(Refusal)
    /// The rule of this index says.
    case ruled(Int)
}
