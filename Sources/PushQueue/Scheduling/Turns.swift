/// The rounds of lanes, one an urgency, and whose turn it is: urgencies take turns of different lengths.
struct Turns: Sendable {
    private var rounds = [Round](repeating: Round(), count: Urgency.allCases.count)
    private(set) var urgency = Urgency.urgent
    private var left = Urgency.urgent.turns

    /// No lane waits for its turn.
    var isEmpty: Bool {
        for round in rounds where !round.isEmpty { return false }
        return true
    }

    subscript(urgency: Urgency) -> Round {
        get { rounds[urgency.rawValue] }
        _modify { yield &rounds[urgency.rawValue] }
    }

    /// A claim was planned: the turn gets shorter.
    mutating func claimed() {
        left -= 1
        if left == 0 { pass() }
    }

    /// The next urgency has its turn.
    mutating func pass() {
        urgency = Urgency.allCases[(urgency.rawValue + 1) % Urgency.allCases.count]
        left = urgency.turns
    }
}
