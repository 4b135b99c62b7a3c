/// The rounds of lanes, one an urgency, and whose turn it is: urgencies take turns of different lengths.
struct Turns: Sendable {
    private var rounds = [Round](repeating: Round(), count: Urgency.allCases.count)
    private(set) var urgency = Urgency.urgent
    private var left = Urgency.urgent.turns

    /// No lane waits for its turn.
    var isEmpty: Bool {
        for round in self.rounds where !round.isEmpty { return false }
        return true
    }

    subscript(urgency: Urgency) -> Round {
        get { self.rounds[urgency.rawValue] }
        _modify { yield &self.rounds[urgency.rawValue] }
    }

    /// A claim was planned: the turn gets shorter.
    mutating func claimed() {
        self.left -= 1
        if self.left == 0 { self.pass() }
    }

    /// The next urgency has its turn.
    mutating func pass() {
        self.urgency = Urgency.allCases[(self.urgency.rawValue + 1) % Urgency.allCases.count]
        self.left = self.urgency.turns
    }
}
