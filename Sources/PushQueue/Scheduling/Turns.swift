/// The rounds of the lanes of one depth, one for each urgency, and the urgency whose turn it is.
struct Turns: Sendable {
    /// Lanes in the order of their turns, each at most once.
    struct Round: Sendable {
        private var lanes: [Lane] = []
        private var start = 0
        private var members: Set<Lane> = []

        var isEmpty: Bool { start == lanes.count }
        var count: Int { lanes.count - start }
        var first: Lane? { isEmpty ? nil : lanes[start] }

        /// Puts the lane at the end, unless it is in the round already.
        mutating func append(_ lane: Lane) {
            if members.insert(lane).inserted { lanes.append(lane) }
        }

        mutating func removeFirst() {
            guard let lane = first else { return }
            members.remove(lane)
            start += 1
            compact()
        }

        mutating func remove(_ lane: Lane) {
            guard members.remove(lane) != nil, let place = lanes[start...].firstIndex(of: lane) else { return }
            lanes.remove(at: place)
        }

        /// Puts the first lane at the end.
        mutating func rotate() {
            guard let lane = first else { return }
            lanes.append(lane)
            start += 1
            compact()
        }

        private mutating func compact() {
            guard start > 64, start * 2 > lanes.count else { return }
            lanes.removeFirst(start)
            start = 0
        }
    }

    private var rounds = (Round(), Round(), Round())
    private(set) var urgency = Lane.Urgency.urgent
    private var claimsLeft = Lane.Urgency.urgent.turns

    private(set) var isEmpty = true

    subscript(urgency: Lane.Urgency) -> Round {
        // `_read` with a switch crashes the optimizer of Swift 6.3.1.
        get {
            switch urgency {
            case .urgent: rounds.0
            case .normal: rounds.1
            case .bulk: rounds.2
            }
        }
        _modify {
            defer { isEmpty = rounds.0.isEmpty && rounds.1.isEmpty && rounds.2.isEmpty }
            switch urgency {
            case .urgent: yield &rounds.0
            case .normal: yield &rounds.1
            case .bulk: yield &rounds.2
            }
        }
    }

    /// A claim was planned.
    mutating func claimed() {
        claimsLeft -= 1
        if claimsLeft == 0 { pass() }
    }

    /// Begins the turn of the next urgency.
    mutating func pass() {
        urgency = urgency.next
        claimsLeft = urgency.turns
    }
}
