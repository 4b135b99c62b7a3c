/// The claims that were asked for and not answered yet. Large and small ones have places of their own, so that neither an
/// app with a lot to send nor a crowd of apps with little takes the place of the other.
struct ClaimSlots: Sendable {
    private var taken = Depth.allCases.map { _ in 0 }

    /// The lanes that may claim now: the small claims first, which are soon done.
    var open: [Depth] { Depth.allCases.filter { taken[$0.rawValue] < $0.slots } }

    var areEmpty: Bool { taken.allSatisfy { $0 == 0 } }

    mutating func take(_ depth: Depth) {
        taken[depth.rawValue] += 1
    }

    mutating func free(_ depth: Depth) {
        taken[depth.rawValue] -= 1
        precondition(taken[depth.rawValue] >= 0, "more claims were answered than asked for")
    }
}
